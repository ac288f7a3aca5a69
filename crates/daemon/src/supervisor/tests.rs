use std::future::pending;
use std::sync::atomic::AtomicBool;

use tokio::time::{Instant, sleep};

use super::*;

const DEADLINE: Duration = Duration::from_secs(10);

/// Tells afterwards whether the task that held it is gone.
struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_cancels_the_token_and_joins_every_task() {
    let supervisor = Supervisor::new();
    let finished = Arc::new(AtomicU64::new(0));
    for _ in 0..3 {
        let (stop, finished) = (supervisor.token(), Arc::clone(&finished));
        supervisor.spawn("worker", async move {
            stop.cancelled().await;
            sleep(Duration::from_secs(2)).await;
            finished.fetch_add(1, Ordering::Relaxed);
        });
    }
    let began = Instant::now();
    assert_eq!(supervisor.shutdown(DEADLINE).await, Ok(()));
    assert_eq!(finished.load(Ordering::Relaxed), 3);
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_without_tasks_returns_at_once_and_may_be_repeated() {
    let supervisor = Supervisor::new();
    assert_eq!(supervisor.shutdown(Duration::ZERO).await, Ok(()));
    assert_eq!(supervisor.shutdown(DEADLINE).await, Ok(()));
    assert!(supervisor.token().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_stuck_task_is_named_and_aborted_at_the_deadline() {
    let supervisor = Supervisor::new();
    let gone = Arc::new(AtomicBool::new(false));
    let held = Held(Arc::clone(&gone));
    supervisor.spawn("ends by itself", async {});
    supervisor.spawn("stuck", async move {
        let _held = held;
        pending::<()>().await;
    });
    supervisor.spawn("stuck as well", pending());

    let began = Instant::now();
    let unfinished = supervisor.shutdown(DEADLINE).await.unwrap_err();
    assert_eq!(unfinished.to_string(), "tasks did not end in time: stuck, stuck as well");
    assert_eq!(began.elapsed(), DEADLINE);
    assert!(gone.load(Ordering::Relaxed), "the destructors of an aborted task have run");
    assert_eq!(supervisor.shutdown(DEADLINE).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_panicking_task_is_counted_and_the_others_go_on() {
    let supervisor = Supervisor::new();
    let child = supervisor.child();
    let (told, survivor) = tokio::sync::oneshot::channel();
    child.spawn("careless", async { panic!("on purpose") });
    let stop = supervisor.token();
    supervisor.spawn("survivor", async move {
        stop.cancelled().await;
        told.send("still here").unwrap();
    });
    assert_eq!(supervisor.shutdown(DEADLINE).await, Ok(()));
    assert_eq!(survivor.await, Ok("still here"));
    assert_eq!((child.panics(), supervisor.panics()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_essential_task_is_told_however_it_ends() {
    for panics in [false, true] {
        let supervisor = Supervisor::new();
        let child = supervisor.child();
        let stop = child.token();
        child.spawn_essential("goes on", async move { stop.cancelled().await });
        child.spawn("does not matter", async {});
        child.spawn_essential("matters", async move {
            sleep(Duration::from_secs(2)).await;
            assert!(!panics, "on purpose");
        });
        let ended = async |of: &Supervisor| tokio::time::timeout(DEADLINE, of.essential_ended()).await;
        assert_eq!(ended(&supervisor).await, Ok("matters"));
        assert_eq!(ended(&child).await, Ok("matters"), "it is remembered");
        assert_eq!(supervisor.shutdown(DEADLINE).await, Ok(()));
        assert_eq!(supervisor.panics(), u64::from(panics));
    }
}

#[tokio::test(start_paused = true)]
async fn an_essential_task_may_end_when_it_is_told_to() {
    let supervisor = Supervisor::new();
    let child = supervisor.child();
    let stop = child.token();
    child.spawn_essential("obedient", async move { stop.cancelled().await });
    child.spawn_essential("stuck", pending());
    child.shutdown(DEADLINE).await.unwrap_err();
    assert!(tokio::time::timeout(DEADLINE, supervisor.essential_ended()).await.is_err());
}

#[test]
fn a_panic_is_logged_with_the_name_and_the_message() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let panic: Box<dyn Any + Send> = Box::new("on purpose");
        Supervisor::new().note_panic("careless", &*panic);
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("ERROR"), "{text}");
    assert!(text.contains(r#"task panicked name="careless" panic="on purpose""#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_child_is_shut_down_alone() {
    let parent = Supervisor::new();
    let child = parent.child();
    let stop = child.token();
    child.spawn("of the child", async move { stop.cancelled().await });
    let stop = parent.token();
    parent.spawn("of the parent", async move { stop.cancelled().await });

    assert_eq!(child.shutdown(DEADLINE).await, Ok(()));
    assert!(!parent.token().is_cancelled());
    let names: Vec<_> = parent.0.running().names.values().copied().collect();
    assert_eq!(names, ["of the parent"]);
    assert_eq!(parent.shutdown(DEADLINE).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_parent_waits_for_its_grandchildren_and_aborts_them() {
    let parent = Supervisor::new();
    let grandchild = parent.child().child();
    let stop = grandchild.token();
    grandchild.spawn("obedient", async move { stop.cancelled().await });
    grandchild.spawn("stuck", pending());

    assert_eq!(parent.shutdown(DEADLINE).await, Err(Unfinished { names: vec!["stuck"] }));
    assert_eq!(grandchild.shutdown(Duration::ZERO).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_child_does_not_abort_its_parent() {
    let parent = Supervisor::new();
    let child = parent.child();
    child.spawn("stuck", pending());
    parent.spawn("of the parent", sleep(Duration::from_mins(1)));

    assert_eq!(child.shutdown(DEADLINE).await, Err(Unfinished { names: vec!["stuck"] }));
    assert_eq!(parent.shutdown(Duration::from_mins(1)).await, Ok(()));
}

#[test]
fn a_task_whose_runtime_is_gone_leaves_the_books() {
    let supervisor = Supervisor::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { supervisor.spawn("lost", pending()) });
    drop(runtime);
    assert!(supervisor.0.running().names.is_empty());
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
