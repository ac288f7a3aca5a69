//! Files on datastores.

use anyhow::{Context as _, ensure};

use super::raw_client::{RawClient, is, named, reference, tag};
use super::subject::Subject;

const QUERY: &str = "?dcPath=%2FDC0&dsName=LocalDS_0";

pub(super) async fn a_file_goes_up_and_comes_down(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["datastore.mkdir", "nest"]).await?;
    let raw = subject.raw().await?;
    let path = format!("/folder/nest/egg.iso{QUERY}");
    let (status, _) = raw.http("PUT", &path, true, b"shell and yolk").await?;
    ensure!(matches!(status, 200 | 201), "the upload is answered with {status}");
    let (status, content) = raw.http("GET", &path, true, b"").await?;
    ensure!(status == 200 && content.as_ref() == b"shell and yolk", "{status}: {content:?}");
    let (status, _) = raw.http("HEAD", &path, true, b"").await?;
    let (missing, _) = raw.http("HEAD", &format!("/folder/nest/none.iso{QUERY}"), true, b"").await?;
    ensure!((status, missing) == (200, 404), "{status} for what is there, {missing} for what is not");
    Ok(())
}

pub(super) async fn an_upload_needs_a_login(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["datastore.mkdir", "nest"]).await?;
    let path = format!("/folder/nest/egg.iso{QUERY}");
    let (status, _) = subject.raw().await?.http("PUT", &path, false, b"x").await?;
    ensure!((400..500).contains(&status), "it is answered with {status}");
    Ok(())
}

pub(super) async fn an_upload_needs_its_folder(subject: Subject) -> anyhow::Result<()> {
    let path = format!("/folder/no-nest/egg.iso{QUERY}");
    let (status, _) = subject.raw().await?.http("PUT", &path, true, b"x").await?;
    ensure!((400..600).contains(&status), "it is answered with {status}");
    Ok(())
}

pub(super) async fn a_folder_is_made_once(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let this = client.content.file_manager.clone().context("a file manager")?;
    let datacenter = tag("datacenter", &client.find("DC0").await?);
    let make = |path: &str, parents: bool| {
        format!(
            "<name>[LocalDS_0] {path}</name>{datacenter}<createParentDirectories>{parents}</createParentDirectories>"
        )
    };
    is(&client.refusal("MakeDirectory", &this, &make("a/b", false)).await?, "FileNotFound")?;
    client.ask("MakeDirectory", &this, &make("a/b", true)).await?;
    is(&client.refusal("MakeDirectory", &this, &make("a/b", true)).await?, "FileAlreadyExists")
}

pub(super) async fn files_are_searched(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["datastore.mkdir", "nest"]).await?;
    let client = RawClient::at(&subject).await?;
    client.http("PUT", &format!("/folder/nest/egg.iso{QUERY}"), true, b"four").await?;
    client.http("PUT", &format!("/folder/nest/note.txt{QUERY}"), true, b"x").await?;
    let datastore = client.find("DC0/datastore/LocalDS_0").await?;
    let browser = client.value(&datastore, "browser").await?.as_ref().map(reference).context("a browser")?;
    let search = |folder: &str, pattern: &str| {
        format!(
            "<datastorePath>[LocalDS_0] {folder}</datastorePath><searchSpec><details><fileType>true</fileType>\
             <fileSize>true</fileSize><modification>true</modification></details>\
             <matchPattern>{pattern}</matchPattern></searchSpec>"
        )
    };
    let info = client.finish("SearchDatastore_Task", &browser, &search("nest", "*.iso")).await?;
    let result = info.child("result").context("a result")?;
    let files: Vec<_> =
        named(result, "file").map(|file| (file.child_text("path"), file.child_text("fileSize"))).collect();
    ensure!(files == [(Some("egg.iso"), Some("4"))], "{files:?}");
    let nothing = client.finish("SearchDatastore_Task", &browser, &search("nest", "none")).await?;
    ensure!(nothing.child("result").is_none_or(|result| result.child("file").is_none()), "{nothing:?}");
    is(&client.refusal("SearchDatastore_Task", &browser, &search("no-nest", "*")).await?, "FileNotFound")
}

pub(super) async fn a_file_is_moved_and_deleted(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["datastore.mkdir", "nest"]).await?;
    let client = RawClient::at(&subject).await?;
    client.http("PUT", &format!("/folder/nest/egg.iso{QUERY}"), true, b"yolk").await?;
    subject.govc(&["datastore.mv", "nest/egg.iso", "nest/chick.iso"]).await?;
    let status = |name: &str| {
        let path = format!("/folder/nest/{name}{QUERY}");
        let client = &client;
        async move { anyhow::Ok(client.http("GET", &path, true, b"").await?.0) }
    };
    let moved = (status("egg.iso").await?, status("chick.iso").await?);
    ensure!(moved == (404, 200), "{moved:?} after the move");
    subject.govc(&["datastore.rm", "nest/chick.iso"]).await?;
    ensure!(status("chick.iso").await? == 404, "it is still there");
    Ok(())
}
