use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rookery_vim::methods::{CreateContainerView, Login, Method, RetrieveServiceContent};
use rookery_vim::objects::ServiceContent;
use rookery_vim::{Hidden, Limits, MoRef, Node, envelope, node};

use crate::Vcsim;

/// A session that does as little as can be done, over plain HTTP: calls can be as wrong as a test wants them, and what
/// is measured is the server.
#[derive(Clone)]
pub struct Raw {
    wire: Wire,
    /// What the server offers.
    pub content: ServiceContent,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw").field("address", &self.wire.address).finish_non_exhaustive()
    }
}

/// A call that did not get what it asked for.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{fault}: {message}")]
pub struct Refused {
    /// The fault's class.
    pub fault: String,
    /// What the server said.
    pub message: String,
    /// The fault with its members.
    pub detail: Option<Box<Node>>,
}

impl Raw {
    /// Logs in as the simulators' user.
    pub async fn login(address: &str) -> Self {
        Self::login_as(address, Vcsim::USER, Vcsim::PASSWORD).await.expect("the server lets us in")
    }

    /// Logs in as somebody.
    pub async fn login_as(address: &str, user: &str, password: &str) -> Result<Self, Refused> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let mut wire = Wire { client, address: address.to_owned(), cookie: String::new() };
        let asked = RetrieveServiceContent { this: envelope::service_instance() };
        let (_, text) = wire.post(said(&asked)).await?;
        let content = envelope::answer::<RetrieveServiceContent>(&text, &Limits::default())
            .expect("what is offered is told to anybody");
        let login = Login {
            this: content.session_manager.clone().expect("a session manager"),
            user_name: user.to_owned(),
            password: Hidden(password.to_owned()),
            locale: None,
        };
        let (cookie, text) = wire.post(said(&login)).await?;
        understood("Login", &text)?;
        let cookie = cookie.expect("a cookie");
        cookie.split(';').next().expect("a value").clone_into(&mut wire.cookie);
        Ok(Self { wire, content })
    }

    /// What the server answers to these bytes.
    pub async fn text(&self, body: String) -> Bytes {
        self.wire.post(body).await.expect("the server answers").1
    }

    /// Calls a method that must succeed.
    pub async fn call<M: Method>(&self, method: &M) -> M::Output {
        self.try_call(method).await.unwrap_or_else(|error| panic!("{}: {error}", M::NAME))
    }

    pub async fn try_call<M: Method>(&self, method: &M) -> Result<M::Output, envelope::AnswerError> {
        let text = self.text(said(method)).await;
        envelope::answer::<M>(&text, &Limits::default())
    }

    /// Calls a method with parameters as they are written here; the response as a tree.
    pub async fn ask(&self, method: &str, this: &MoRef, parameters: &str) -> Result<Node, Refused> {
        let this = format!("<_this type=\"{}\">{}</_this>", this.kind(), this.id());
        let call = format!("<{method} xmlns=\"urn:vim25\">{this}{parameters}</{method}>");
        understood(method, &self.wire.post(enveloped(&call)).await?.1)
    }

    /// Any other request to the server, with the session's cookie or without.
    pub async fn http(
        &self,
        method: &str,
        path: &str,
        logged_in: bool,
        body: &[u8],
    ) -> Result<(u16, Bytes), Refused> {
        let cookie = if logged_in { self.wire.cookie.as_str() } else { "" };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.wire.address))
            .header("cookie", cookie)
            .body(Full::from(body.to_vec()))
            .expect("a request");
        let answer = self.wire.client.request(request).await.map_err(|error| silent(&error))?;
        let status = answer.status().as_u16();
        Ok((status, answer.into_body().collect().await.map_err(|error| silent(&error))?.to_bytes()))
    }

    /// A text that no other session has.
    pub fn unique(&self) -> String {
        self.wire.cookie.chars().filter(char::is_ascii_alphanumeric).collect()
    }

    pub async fn view(&self) -> MoRef {
        let view = CreateContainerView {
            this: self.content.view_manager.clone().expect("a view manager"),
            container: self.content.root_folder.clone(),
            kinds: vec!["VirtualMachine".to_owned()],
            recursive: true,
        };
        self.call(&view).await
    }
}

#[derive(Clone)]
struct Wire {
    client: Client<HttpConnector, Full<Bytes>>,
    address: String,
    cookie: String,
}

impl Wire {
    /// The cookie of the answer, and the answer.
    async fn post(&self, body: String) -> Result<(Option<String>, Bytes), Refused> {
        let request = Request::post(format!("{}/sdk", self.address))
            .header("content-type", "text/xml; charset=utf-8")
            .header("soapaction", "urn:vim25/6.5")
            .header("cookie", &self.cookie)
            .body(Full::from(body))
            .expect("a request");
        let answer = self.client.request(request).await.map_err(|error| silent(&error))?;
        let cookie = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.map(str::to_owned);
        Ok((cookie, answer.into_body().collect().await.map_err(|error| silent(&error))?.to_bytes()))
    }
}

/// The server hung up, or cannot be reached.
fn silent(error: &dyn std::error::Error) -> Refused {
    Refused { fault: "no answer".to_owned(), message: error.to_string(), detail: None }
}

/// An envelope around a call as it is written here.
pub fn enveloped(call: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><e:Envelope \
         xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><e:Body>{call}</e:Body></e:Envelope>"
    )
}

fn understood(method: &str, text: &[u8]) -> Result<Node, Refused> {
    let no_answer =
        |message: String| Refused { fault: format!("no answer to {method}"), message, detail: None };
    let root = node::parse(text, &Limits::default()).map_err(|error| no_answer(error.to_string()))?;
    let content = envelope::body(root).ok_or_else(|| no_answer("an empty envelope".to_owned()))?;
    if content.name.as_ref() != "Fault" {
        return Ok(content);
    }
    let detail = content.child("detail").and_then(|detail| detail.children.first());
    let class = detail.map(|detail| detail.xsi_type.as_ref().unwrap_or(&detail.name).to_string());
    Err(Refused {
        fault: class.unwrap_or_default(),
        message: content.child_text("faultstring").unwrap_or_default().to_owned(),
        detail: detail.cloned().map(Box::new),
    })
}

fn said<M: Method>(method: &M) -> String {
    envelope::call(method, None).expect("XML carries what tests say")
}
