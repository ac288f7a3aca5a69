//! A client that does as little as can be done: what is measured is the server.

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rookery_stories::Vcsim;
use rookery_vim::methods::{CreateContainerView, Login, Method, RetrieveServiceContent};
use rookery_vim::objects::ServiceContent;
use rookery_vim::{Hidden, Limits, MoRef, envelope};

use crate::server::Server;

/// A session.
#[derive(Clone)]
pub(crate) struct Raw {
    client: Client<HttpConnector, Full<Bytes>>,
    address: String,
    cookie: String,
    pub(crate) content: ServiceContent,
}

impl Raw {
    pub(crate) async fn login(server: &Server) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let this = envelope::service_instance();
        let mut raw = Self {
            client,
            address: format!("{}/sdk", server.address),
            cookie: String::new(),
            content: dummy(),
        };
        raw.content = raw.call(&RetrieveServiceContent { this }).await;
        let login = Login {
            this: raw.content.session_manager.clone().expect("a session manager"),
            user_name: Vcsim::USER.to_owned(),
            password: Hidden(Vcsim::PASSWORD.to_owned()),
            locale: None,
        };
        let response = raw.request(envelope::call(&login, None)).await;
        let cookie = response.headers().get("set-cookie").expect("a cookie").to_str().expect("text");
        raw.cookie = cookie.split(';').next().expect("a value").to_owned();
        raw
    }

    async fn request(&self, body: String) -> hyper::Response<hyper::body::Incoming> {
        let request = Request::post(&self.address)
            .header("content-type", "text/xml; charset=utf-8")
            .header("soapaction", "urn:vim25/6.5")
            .header("cookie", &self.cookie)
            .body(Full::from(body))
            .expect("a request");
        self.client.request(request).await.expect("the server answers")
    }

    pub(crate) async fn text(&self, body: String) -> Bytes {
        self.request(body).await.into_body().collect().await.expect("the whole answer").to_bytes()
    }

    pub(crate) async fn call<M: Method>(&self, method: &M) -> M::Output {
        self.try_call(method).await.unwrap_or_else(|error| panic!("{}: {error}", M::NAME))
    }

    pub(crate) async fn try_call<M: Method>(&self, method: &M) -> Result<M::Output, envelope::AnswerError> {
        let text = self.text(envelope::call(method, None)).await;
        envelope::answer::<M>(&text, &Limits::default())
    }

    /// A text that no other session has.
    pub(crate) fn unique(&self) -> String {
        self.cookie.chars().filter(char::is_ascii_alphanumeric).collect()
    }

    /// All VMs.
    pub(crate) async fn view(&self) -> MoRef {
        let view = CreateContainerView {
            this: self.content.view_manager.clone().expect("a view manager"),
            container: self.content.root_folder.clone(),
            kinds: vec!["VirtualMachine".to_owned()],
            recursive: true,
        };
        self.call(&view).await
    }
}

/// Stands in until the real one is known.
fn dummy() -> ServiceContent {
    let text = "<?xml version=\"1.0\"?><e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body>\
        <RetrieveServiceContentResponse xmlns=\"urn:vim25\"><returnval><rootFolder type=\"Folder\">f</rootFolder>\
        <propertyCollector type=\"PropertyCollector\">p</propertyCollector><about><name/><fullName/><version/>\
        <apiType/><apiVersion/></about></returnval></RetrieveServiceContentResponse></e:Body></e:Envelope>";
    envelope::answer::<RetrieveServiceContent>(text.as_bytes(), &Limits::default())
        .expect("it is well formed")
}

/// Seconds until all VMs were told with the properties that a hatchery in Go lists.
pub(crate) async fn full_retrieve(server: &Server, vms: usize) -> f64 {
    let raw = Raw::login(server).await;
    let view = raw.view().await;
    let collector = raw.content.property_collector.clone();
    let first = format!(
        "<RetrievePropertiesEx xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">{}</_this><specSet><propSet>\
         <type>VirtualMachine</type><pathSet>name</pathSet><pathSet>summary</pathSet><pathSet>guest</pathSet>\
         <pathSet>config</pathSet></propSet><objectSet><obj type=\"ContainerView\">{}</obj><skip>true</skip>\
         <selectSet xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"TraversalSpec\">\
         <name>v</name><type>ContainerView</type><path>view</path><skip>false</skip></selectSet></objectSet></specSet>\
         <options></options></RetrievePropertiesEx>",
        collector.id(),
        view.id()
    );
    let began = Instant::now();
    let (mut seen, mut body) = (0, first);
    loop {
        let answer = raw.text(wrapped(&body)).await;
        let text = String::from_utf8_lossy(&answer);
        seen += text.matches("<objects>").count();
        let Some(token) = text.split_once("<token>").and_then(|(_, rest)| rest.split_once('<')) else {
            break;
        };
        body = format!(
            "<ContinueRetrievePropertiesEx xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">{}</_this>\
             <token>{}</token></ContinueRetrievePropertiesEx>",
            collector.id(),
            token.0
        );
    }
    assert!(seen >= vms, "{seen} of {vms} VMs were told");
    began.elapsed().as_secs_f64()
}

fn wrapped(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><e:Envelope \
         xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body>{body}</e:Body></e:Envelope>"
    )
}
