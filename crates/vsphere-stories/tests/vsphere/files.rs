//! Files on datastores, with `govc` looking at the same datastore.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::StatusCode;
use rookery_daemon::{Clock, Supervisor};
use rookery_kit::{
    Connected, Govc, Pattern, PatternCheck, Proxy, Relay, Vcsim, VcsimOptions, connect, eventually,
};
use rookery_vim_client::{
    DatastoreError, DatastoreFiles, DatastorePlace, Existing, FileKind, FilePath, Kind, Places, Reuse,
    TransferError, Upload, Uploaded,
};
use tempfile::TempDir;
use tokio::io::{AsyncWriteExt, duplex};
use tokio::process::Command;
use tokio::sync::watch;

const DATACENTER: &str = "/DC0";

async fn files(ours: &Connected) -> DatastoreFiles {
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let datastore = places.find(Kind::Datastore, Some("LocalDS_0"), &root).expect("it is there");
    let place = DatastorePlace::of(&places, &datastore.id).expect("it is in a datacenter");
    DatastoreFiles::new(ours.machines.clone(), place)
}

/// Daemons do this in tasks of their own, which may run on any thread.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

fn path(text: &str) -> FilePath {
    FilePath::parse(text).expect("a path")
}

fn new_file(target: &str, content: &[u8]) -> Upload {
    let size = content.len() as u64;
    Upload { target: path(target), size, reuse: Reuse::Never, existing: Existing::Refuse }
}

async fn send(files: &DatastoreFiles, upload: &Upload, content: &[u8]) -> Result<Uploaded, DatastoreError> {
    let (progress, seen) = watch::channel(0);
    let sending = files.upload(upload, async || Ok(Cursor::new(content.to_vec())), &progress);
    let sent = sendable(sending).await;
    if matches!(sent, Ok(Uploaded::Sent)) {
        assert_eq!(*seen.borrow(), upload.size);
    }
    sent
}

async fn fetch(files: &DatastoreFiles, file: &str) -> Result<Vec<u8>, DatastoreError> {
    let (progress, seen) = watch::channel(0);
    let mut content = Vec::new();
    let size = sendable(files.download(&path(file), &mut content, &progress)).await?;
    assert_eq!((size, *seen.borrow()), (content.len() as u64, content.len() as u64));
    Ok(content)
}

/// What govc sees in a folder, hidden files too: names and sizes.
async fn seen(govc: &Govc, datacenter: &str, folder: &str) -> BTreeMap<String, u64> {
    let listing =
        govc.json(&["datastore.ls", "-a", "-l", "-dc", datacenter, "-ds", "LocalDS_0", folder]).await;
    let entries = listing[0]["file"].as_array().cloned().unwrap_or_default();
    let name = |entry: &serde_json::Value| entry["path"].as_str().expect("a name").to_owned();
    entries.iter().map(|entry| (name(entry), entry["fileSize"].as_u64().unwrap_or(0))).collect()
}

async fn fetched_by_govc(govc: &Govc, datacenter: &str, file: &str) -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let copy = folder.path().join("copy");
    let to = copy.to_str().expect("plain");
    govc.run(&["datastore.download", "-dc", datacenter, "-ds", "LocalDS_0", file, to]).await;
    std::fs::read(copy).expect("it is there")
}

async fn put_by_govc(govc: &Govc, datacenter: &str, file: &str, content: &[u8]) {
    let here = TempDir::new().expect("a folder");
    let copy = here.path().join("copy");
    std::fs::write(&copy, content).expect("it is written");
    let from = copy.to_str().expect("plain");
    // vcsim makes the folder by itself; vCenter does not.
    let (folder, _) = file.rsplit_once('/').expect("a folder");
    govc.run(&["datastore.mkdir", "-p", "-dc", datacenter, "-ds", "LocalDS_0", folder]).await;
    govc.run(&["datastore.upload", "-dc", datacenter, "-ds", "LocalDS_0", from, file]).await;
}

fn only(name: &str, content: &[u8]) -> BTreeMap<String, u64> {
    BTreeMap::from([(name.to_owned(), content.len() as u64)])
}

#[tokio::test]
async fn files_with_odd_names_go_both_ways() {
    let vcsim = Vcsim::start(VcsimOptions::tls(0)).await;
    let govc = Govc::new(&vcsim);
    // The path of the datacenter has a folder, a space, and a slash in a name, as vCenter stores it.
    govc.run(&["folder.create", "/a folder"]).await;
    govc.run(&["object.mv", "/DC0", "/a folder"]).await;
    govc.run(&["object.rename", "/a folder/DC0", "DC 1%2f2"]).await;
    let datacenter = "/a folder/DC 1%2f2";
    let ours = connect(vcsim.address()).await;
    let files = files(&ours).await;
    let names = [
        "plain.iso",
        "two words.iso",
        "#1?.iso",
        "100%25+[x]&y=z.iso",
        "Ünïcode-鳥.iso",
        "'\"<>;:@$,!*().iso",
    ];
    for (index, name) in names.iter().enumerate() {
        let content = vec![u8::try_from(index).expect("few"); 1000 * index];
        let ours_name = format!("sent by us/{name}");
        let sent = send(&files, &new_file(&ours_name, &content), &content).await;
        assert_eq!(sent.unwrap_or_else(|error| panic!("{name}: {error:?}")), Uploaded::Sent);
        assert_eq!(fetched_by_govc(&govc, datacenter, &ours_name).await, content, "{name}");

        // govc sends an empty file without a length, which vCenter does not take.
        let content = vec![7; 1000 * index + 1];
        let theirs_name = format!("sent by govc/{name}");
        put_by_govc(&govc, datacenter, &theirs_name, &content).await;
        assert_eq!(fetch(&files, &theirs_name).await.expect("it is fetched"), content, "{name}");
        let info = files.stat(&path(&theirs_name)).await.expect("an answer").expect("it is there");
        assert_eq!(info.size, content.len() as u64);
        assert!(info.modified.is_some());
    }
    let sizes = seen(&govc, datacenter, "sent by us").await;
    assert_eq!(sizes.keys().map(String::as_str).collect::<Vec<_>>(), sorted(&names));
    assert!(names.iter().enumerate().all(|(index, name)| sizes[*name] == 1000 * index as u64), "{sizes:?}");
    let listed = files.list(Some(&path("sent by govc"))).await.expect("a listing");
    let listed_names: Vec<_> = listed.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(sorted(&listed_names), sorted(&names));
    assert!(listed.iter().all(|e| e.kind == FileKind::File && e.modified.is_some()), "{listed:?}");
    assert!(listed.iter().all(|e| e.size == Some(sizes[&e.name] + 1)), "{listed:?}");
    let top = files.list(None).await.expect("a listing");
    assert!(top.iter().any(|e| e.name == "sent by us" && e.kind == FileKind::Folder), "{top:?}");
    ours.close().await;
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_file_that_is_there_is_kept_reused_or_replaced_as_told() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let files = files(&ours).await;
    let there = async || fetched_by_govc(&govc, DATACENTER, "iso/a").await;
    let upload = new_file("iso/a", b"first");
    assert_eq!(send(&files, &upload, b"first").await.expect("sent"), Uploaded::Sent);

    let error = send(&files, &upload, b"other").await.expect_err("it is there");
    assert!(matches!(error, DatastoreError::Exists { .. }), "{error:?}");
    assert_eq!(error.to_string(), "[LocalDS_0] iso/a is there already");
    assert_eq!(there().await, b"first");

    // The name stands for the content: the same size is the same file, and nobody reads the source.
    let reuse = Upload { reuse: Reuse::SameSize, ..upload.clone() };
    assert_eq!(send(&files, &reuse, b"other").await.expect("it will do"), Uploaded::Reused);
    assert_eq!(there().await, b"first");
    let longer = Upload { size: 6, ..reuse.clone() };
    let error = send(&files, &longer, b"longer").await.expect_err("it is another one");
    assert!(matches!(error, DatastoreError::Differs { found: 5, expected: 6, .. }), "{error:?}");
    assert_eq!(there().await, b"first");

    let replace = Upload { existing: Existing::Replace, ..longer };
    assert_eq!(send(&files, &replace, b"longer").await.expect("replaced"), Uploaded::Sent);
    assert_eq!(there().await, b"longer");
    let anyway = Upload { reuse: Reuse::Never, ..replace };
    assert_eq!(send(&files, &anyway, b"LONGER").await.expect("replaced"), Uploaded::Sent);
    assert_eq!(there().await, b"LONGER");
    assert_eq!(seen(&govc, DATACENTER, "iso").await, only("a", b"LONGER"));

    // Somebody else is faster, after we have looked.
    files.delete(&path("iso/a")).await.expect("removed");
    let (progress, _) = watch::channel(0);
    let overtaken = async || {
        put_by_govc(&govc, DATACENTER, "iso/a", b"their").await;
        Ok(Cursor::new(b"first".to_vec()))
    };
    let sent = files.upload(&reuse, &overtaken, &progress).await;
    assert_eq!(sent.expect("theirs will do"), Uploaded::Reused);
    files.delete(&path("iso/a")).await.expect("removed");
    let error = files.upload(&upload, &overtaken, &progress).await.expect_err("theirs is in the way");
    assert!(matches!(error, DatastoreError::Exists { .. }), "{error:?}");
    assert_eq!(there().await, b"their");
    assert_eq!(seen(&govc, DATACENTER, "iso").await, only("a", b"their"));
    ours.close().await;
}

#[tokio::test]
async fn folders_and_files_are_made_moved_and_removed_twice_without_harm() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let files = files(&ours).await;
    files.make_directory(&path("a/b/c")).await.expect("made");
    files.make_directory(&path("a/b/c")).await.expect("it is there");
    assert!(seen(&govc, DATACENTER, "a/b").await.contains_key("c"));
    let error = files.stat(&path("a/b")).await.expect_err("no file");
    assert!(matches!(error, DatastoreError::Folder { .. }), "{error:?}");

    put_by_govc(&govc, DATACENTER, "a/b/one", b"1").await;
    put_by_govc(&govc, DATACENTER, "a/b/two", b"22").await;
    let (one, two) = (path("a/b/one"), path("a/b/two"));
    let error = files.move_to(&one, &two, Existing::Refuse).await.expect_err("in the way");
    assert!(matches!(error, DatastoreError::Exists { .. }), "{error:?}");
    assert_eq!(fetched_by_govc(&govc, DATACENTER, "a/b/two").await, b"22");
    sendable(files.move_to(&one, &two, Existing::Replace)).await.expect("moved");
    assert_eq!(fetched_by_govc(&govc, DATACENTER, "a/b/two").await, b"1");
    let error = files.move_to(&one, &two, Existing::Replace).await.expect_err("nothing to move");
    assert!(matches!(error, DatastoreError::Missing { .. }), "{error:?}");

    sendable(files.delete(&two)).await.expect("removed");
    files.delete(&two).await.expect("gone already");
    assert!(!files.exists(&two).await.expect("an answer"));
    assert!(!seen(&govc, DATACENTER, "a/b").await.contains_key("two"));
    let error = fetch(&files, "a/b/two").await.expect_err("gone");
    assert!(matches!(error, DatastoreError::Missing { .. }), "{error:?}");
    let error = files.list(Some(&path("nowhere"))).await.expect_err("no folder");
    assert!(matches!(error, DatastoreError::Missing { .. }), "{error:?}");

    // The datacenter got another name: until that is known, nothing can be said about its files.
    govc.run(&["object.rename", "/DC0", "renamed"]).await;
    let error = files.exists(&path("a/b/c/d")).await.expect_err("unknown");
    assert!(matches!(error, DatastoreError::NoPlace { .. }), "{error:?}");
    ours.close().await;
}

#[tokio::test]
async fn lost_answers_are_made_good_by_looking() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let files = files(&ours).await;
    for lost in ["HEAD", "MakeDirectory", "PUT", "MoveDatastoreFile_Task"] {
        proxy.lose(lost);
        let name = format!("iso/{lost}");
        let content = lost.as_bytes().repeat(50_000);
        let sent = send(&files, &new_file(&name, &content), &content).await;
        assert_eq!(sent.unwrap_or_else(|error| panic!("{lost}: {error:?}")), Uploaded::Sent);
        assert_eq!(fetched_by_govc(&govc, DATACENTER, &name).await, content, "{lost}");
        assert!(proxy.exchanges().iter().any(|e| e.method.starts_with(lost)), "{lost} was asked");
    }
    assert_eq!(seen(&govc, DATACENTER, "iso").await.len(), 4, "and nothing else");
    let puts = proxy.exchanges().iter().filter(|e| e.method.starts_with("PUT")).count();
    assert_eq!(puts, 4, "nothing was sent twice");

    proxy.lose("SearchDatastore_Task");
    assert_eq!(files.list(Some(&path("iso"))).await.expect("a listing").len(), 4);
    proxy.lose("DeleteDatastoreFile_Task");
    files.delete(&path("iso/PUT")).await.expect("gone");
    assert_eq!(seen(&govc, DATACENTER, "iso").await.len(), 3);
    ours.close().await;
}

#[tokio::test]
async fn a_refused_upload_says_why_and_leaves_nothing() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let files = files(&ours).await;
    files.make_directory(&path("iso")).await.expect("made");
    let refused = async |statuses: &[StatusCode]| {
        for status in statuses {
            proxy.refuse("PUT", *status);
        }
        let error = send(&files, &new_file("iso/a", b"abc"), b"abc").await.expect_err("refused");
        assert_eq!(seen(&govc, DATACENTER, "iso").await, BTreeMap::new(), "{statuses:?}");
        error
    };
    let error = refused(&[StatusCode::FORBIDDEN, StatusCode::FORBIDDEN]).await;
    assert!(matches!(error, DatastoreError::Denied { .. }) && !error.is_transient(), "{error:?}");
    let error = refused(&[StatusCode::INSUFFICIENT_STORAGE]).await;
    assert!(matches!(error, DatastoreError::NoSpace { needed: 3, .. }) && error.is_transient(), "{error:?}");
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::NOT_FOUND, StatusCode::LENGTH_REQUIRED] {
        let error = refused(&[status]).await;
        assert!(matches!(error, DatastoreError::Status { status: s, .. } if s == status), "{error:?}");
    }

    // An expired session is no reason to fail: both the login and the source are made again.
    let keys = govc.sessions().await;
    govc.run(&["session.rm", &keys[0]]).await;
    proxy.refuse("PUT", StatusCode::UNAUTHORIZED);
    let opened = AtomicUsize::new(0);
    let (progress, _) = watch::channel(0);
    let source = async || {
        opened.fetch_add(1, Ordering::SeqCst);
        Ok(Cursor::new(b"abc".to_vec()))
    };
    files.upload(&new_file("iso/a", b"abc"), source, &progress).await.expect("sent");
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    assert_eq!(seen(&govc, DATACENTER, "iso").await, only("a", b"abc"));
    proxy.refuse("GET /folder/iso/a", StatusCode::UNAUTHORIZED);
    assert_eq!(fetch(&files, "iso/a").await.expect("it is fetched"), b"abc");
    ours.close().await;
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing_and_can_be_repeated() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let relay = Relay::start(vcsim.socket(), &supervisor).await;
    let ours = connect(&format!("http://{}", relay.socket)).await;
    let files = files(&ours).await;
    files.make_directory(&path("iso")).await.expect("made");
    let size = 8 << 20;
    let upload = Upload { target: path("iso/a"), size, reuse: Reuse::SameSize, existing: Existing::Refuse };
    let (progress, _) = watch::channel(0);

    // Half of it goes; then something happens, and the rest is that long.
    let broken_off = async |happens: &dyn Fn(), rest: u64| {
        let (mut giver, taker) = duplex(1 << 20);
        let taker = Mutex::new(Some(taker));
        let sent = files.upload(
            &upload,
            async || Ok(taker.lock().expect("nobody panicked").take().expect("it is opened once")),
            &progress,
        );
        let give = async {
            tokio::io::copy(&mut Pattern::new(size / 2), &mut giver).await.expect("half of it");
            let arrives = async || seen(&govc, DATACENTER, "iso").await.values().any(|found| *found > 0);
            eventually("a part of the file arrives", arrives).await;
            assert!(!seen(&govc, DATACENTER, "iso").await.contains_key("a"), "not under its name");
            happens();
            // Perhaps nobody takes it any more.
            tokio::io::copy(&mut Pattern::new(rest), &mut giver).await.ok();
            drop(giver);
        };
        let (sent, ()) = tokio::join!(sent, give);
        assert_eq!(seen(&govc, DATACENTER, "iso").await, BTreeMap::new());
        sent.expect_err("it breaks off")
    };

    let error = broken_off(&|| relay.hang_up(), size / 2).await;
    let broken = matches!(&error, DatastoreError::Transfer { source: TransferError::Broken { .. }, .. });
    assert!(broken && error.is_transient(), "{error:?}");

    // A source that ends early, or goes on, is told apart from that.
    let error = broken_off(&|| (), size / 2 - 1).await;
    let short = matches!(&error, DatastoreError::Transfer { source: TransferError::SourceShort { .. }, .. });
    assert!(short && !error.is_transient(), "{error:?}");
    let error = broken_off(&|| (), size / 2 + 1).await;
    let long = matches!(&error, DatastoreError::Transfer { source: TransferError::SourceLong { .. }, .. });
    assert!(long, "{error:?}");

    files.upload(&upload, async || Ok(Pattern::new(size)), &progress).await.expect("the same again");
    assert_eq!(seen(&govc, DATACENTER, "iso").await, BTreeMap::from([("a".to_owned(), size)]));
    let content = fetched_by_govc(&govc, DATACENTER, "iso/a").await;
    PatternCheck::new(size).write_all(&content).await.expect("what was sent");
    ours.close().await;
}

#[tokio::test]
async fn what_nobody_could_remove_is_removed_after_a_day() {
    let vcsim = Vcsim::start(VcsimOptions::plain(0)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let files = files(&ours).await;
    files.make_directory(&path("iso")).await.expect("made");
    // Whoever sends it goes away in the middle.
    let (progress, _) = watch::channel(0);
    let (mut giver, taker) = duplex(1 << 20);
    let taker = Mutex::new(Some(taker));
    let upload =
        Upload { target: path("iso/a"), size: 1 << 20, reuse: Reuse::Never, existing: Existing::Refuse };
    let sent = files.upload(
        &upload,
        async || Ok(taker.lock().expect("nobody panicked").take().expect("it is opened once")),
        &progress,
    );
    giver.write_all(&vec![1; 1 << 19]).await.expect("half of it");
    let arrived = async || seen(&govc, DATACENTER, "iso").await.len() == 1;
    tokio::select! {
        biased;
        _ = sent => panic!("it cannot end"),
        () = eventually("a part of the file arrives", arrived) => {}
    }
    put_by_govc(&govc, DATACENTER, "iso/theirs", b"1").await;

    let now = Clock::system().now();
    let folder = path("iso");
    assert_eq!(files.remove_leftovers(Some(&folder), now).await.expect("done"), vec![], "it may be in use");
    let later = now + jiff::SignedDuration::from_hours(25);
    let removed = sendable(files.remove_leftovers(Some(&folder), later)).await.expect("done");
    assert!(matches!(removed.as_slice(), [one] if one.to_string().starts_with("iso/.rookery-upload-")));
    assert_eq!(seen(&govc, DATACENTER, "iso").await, only("theirs", b"1"));
    ours.close().await;
}

#[tokio::test]
async fn a_gibibyte_goes_both_ways_in_little_memory() {
    const SIZE: u64 = 1 << 30;
    let vcsim = Vcsim::start(VcsimOptions::tls(0)).await;
    let output = Command::new(env!("CARGO_BIN_EXE_transfer-files"))
        .args([vcsim.address(), &SIZE.to_string(), "iso/big"])
        .output()
        .await
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).expect("figures");
    eprintln!("{figures}");
    assert!(figures["growth_kib"].as_u64().expect("a number") <= 16 * 1024, "{figures}");

    let govc = Govc::new(&vcsim);
    let listed = seen(&govc, DATACENTER, "iso").await;
    assert_eq!(listed, BTreeMap::from([("big".to_owned(), SIZE)]), "no temporary file is left");
    let folder = TempDir::new().expect("a folder");
    let copy = folder.path().join("copy");
    let to = copy.to_str().expect("plain");
    govc.run(&["datastore.download", "-dc", DATACENTER, "-ds", "LocalDS_0", "iso/big", to]).await;
    let mut check = PatternCheck::new(SIZE);
    let mut file = std::fs::File::open(copy).expect("it can be read");
    let mut chunk = vec![0; 1 << 20];
    loop {
        match std::io::Read::read(&mut file, &mut chunk).expect("it can be read") {
            0 => break,
            length => check.write_all(&chunk[..length]).await.expect("what was sent"),
        }
    }
    assert!(check.is_complete());
}
