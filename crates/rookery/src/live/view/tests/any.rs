//! Whatever there is to show, on whatever terminal: nothing panics, and nothing is out of reach.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::live::keys::Key;

fn word() -> impl Strategy<Value = String> {
    "([a-z日é:;=-]|👩‍🚀){1,24}"
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(word(), 1..8).prop_map(|words| words.join(" "))
}

fn queue_row() -> impl Strategy<Value = QueueRow> {
    (word(), text(), text(), any::<bool>(), any::<bool>()).prop_map(
        |(subject, details, why, is_job, permanent)| {
            let subject = if is_job { Subject::Job(subject) } else { Subject::Model(subject) };
            QueueRow { subject, state: "waits", details, why, permanent }
        },
    )
}

fn gauge() -> impl Strategy<Value = Gauge> {
    (any::<u64>(), proptest::option::of(any::<u64>())).prop_map(|(used, limit)| Gauge {
        name: "memory",
        used,
        limit,
        unit: "MB",
    })
}

fn sections() -> impl Strategy<Value = Vec<Section>> {
    let times = proptest::collection::vec(0u64..5_000_000, 0..60);
    (text(), times, proptest::collection::vec(gauge(), 0..4), proptest::option::of(gauge()), 0usize..3000)
        .prop_map(|(fact, times, gauges, addresses, count)| {
            vec![
                Section::Fact(Fact::new("inventory", fact)),
                Section::Jobs(Jobs { fed: count, wanted: Some(7), succeeded: count, failed: 0 }),
                Section::Queue(vec![(count, "wait"), (0, "run")]),
                Section::Starts(StartTimes::of(times.into_iter().map(Duration::from_millis))),
                Section::States(States {
                    name: "machines",
                    total: None,
                    counts: vec![(count, "warm"), (1, "running")],
                }),
                Section::Capacity(gauges),
                Section::Addresses(addresses),
            ]
        })
}

prop_compose! {
    fn models()(
        title in text(),
        state in sections(),
        attention in proptest::collection::vec(text(), 0..4),
        queue in proptest::option::of(proptest::collection::vec(queue_row(), 0..5)),
        machines in proptest::collection::vec((word(), word(), text()), 0..6),
        hints in proptest::collection::vec(text(), 0..4),
        ending in text(),
    ) -> Model {
        let rows = machines.into_iter().map(|(name, state, rest)| vec![name, state, rest]).collect();
        Model {
            title,
            state,
            attention: attention.into_iter().map(|text| Fact::new("kept", text)).collect(),
            queue,
            machines: Some(Arc::new(MachineTable { header: &["NAME", "STATE", "WHAT ELSE"], rows })),
            hints,
            ending,
        }
    }
}

prop_compose! {
    fn contents()(
        model in models(),
        events in proptest::collection::vec(text(), 0..12),
        stopping in proptest::option::of(text()),
    ) -> Content {
        Content { stopping, ..content(model, &events) }
    }
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    let one = prop_oneof![
        proptest::char::range('0', '9').prop_map(Key::Char),
        Just(Key::Tab),
        Just(Key::BackTab),
        Just(Key::Down),
        Just(Key::Up),
        Just(Key::PageDown),
        Just(Key::PageUp),
        Just(Key::End),
        Just(Key::Home),
        Just(Key::Char('?')),
        Just(Key::Escape),
    ];
    proptest::collection::vec(one, 0..12)
}

fn solid(text: &str) -> String {
    text.split_whitespace().collect()
}

/// All that can be read in a tab by scrolling through it, without blanks.
fn read(content: &Content, tab: Tab, size: (u16, u16)) -> String {
    let at = Tab::of(content).iter().position(|one| *one == tab).unwrap();
    let digit = char::from_digit(u32::try_from(at).unwrap() + 1, 10).unwrap();
    let area = Rect::new(0, 0, size.0, size.1);
    let mut ui = after(content, &[Key::Char(digit)], size);
    let mut lines = Vec::new();
    loop {
        let extent = extent(content, &ui, LOOK, area);
        let top = ui.top(extent);
        let text = shown(content, &ui, LOOK, size);
        let body = regions(area, content).body;
        let rows: Vec<_> = text.lines().skip(usize::from(body.y)).take(usize::from(body.height)).collect();
        // Of a screen that was scrolled only the lines are new that were not on the one before.
        let seen = lines.len() - top;
        let rows = rows.iter().skip(usize::from(body.height) - extent.fit).skip(seen);
        lines.extend(rows.map(|row| (*row).to_owned()));
        let (next, _) = ui.clone().press(Key::Down, &Tab::of(content), extent, content.events.count());
        if next.top(extent) == top {
            return solid(&lines.concat());
        }
        ui = next;
    }
}

/// Sizes on which there is room for a word.
fn sizes() -> impl Strategy<Value = (u16, u16)> {
    (12u16..140, 4u16..50)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_size_and_no_content_is_too_much(
        content in contents(), width in 0u16..140, height in 0u16..50, keys in keys(), ascii in any::<bool>(),
    ) {
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Blocks };
        let ui = after(&content, &keys, (width, height));
        shown(&content, &ui, Look { paint: Paint::Colours, glyphs }, (width, height));
    }

    #[test]
    fn every_reason_every_event_and_every_machine_can_be_read(content in contents(), size in sizes()) {
        let content = Content { stopping: None, ..content };
        let model = content.model.as_ref().unwrap();
        if let Some(queue) = &model.queue {
            let read = read(&content, Tab::Queue, size);
            for row in queue {
                prop_assert!(read.contains(&solid(&row.why)), "{:?} is not in {read}", row.why);
                prop_assert!(read.contains(&solid(&row.details)), "{:?} is not in {read}", row.details);
            }
        }
        let events = read(&content, Tab::Events, size);
        for event in content.events.newest_of(usize::MAX) {
            prop_assert!(events.contains(&solid(event)), "{event:?} is not in {events}");
        }
        let machines = read(&content, Tab::Machines, size);
        for cell in model.machines.iter().flat_map(|table| &table.rows).flatten() {
            prop_assert!(machines.contains(&solid(cell)), "{cell:?} is not in {machines}");
        }
        let about = read(&content, Tab::About, size);
        for text in model.hints.iter().chain([&model.title]) {
            prop_assert!(about.contains(&solid(text)), "{text:?} is not in {about}");
        }
        let overview = read(&content, Tab::Overview, size);
        for fact in &model.attention {
            prop_assert!(overview.contains(&solid(&fact.text)), "{fact:?} is not in {overview}");
        }
    }
}

#[test]
fn the_smallest_terminals_show_what_they_can() {
    let events: Vec<String> = vec!["09:31:02 job 7  waits".to_owned()];
    let content = content(Model { title: "a fleet".to_owned(), ..Model::default() }, &events);
    for (width, height) in [(0, 0), (1, 1), (0, 9), (9, 0), (1, 40), (80, 1), (80, 2), (80, 3)] {
        shown(&content, &Ui::default(), LOOK, (width, height));
        let ui = after(&content, &[Key::Char('?')], (width, height));
        shown(&content, &ui, LOOK, (width, height));
    }
}
