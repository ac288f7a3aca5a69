//! The engine's section `log`.

use rookery_daemon::telemetry::LogFormat;

use super::section::Section;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    pub level: Level,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// As a filter directive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Where the engine ignores an invalid value, this only warns: a file that starts the engine must start us, too.
pub(super) fn log(mut section: Section<'_, '_>) -> Log {
    let mut level = match section.text_or_default("level").to_lowercase().as_str() {
        "info" => Level::Info,
        "panic" | "fatal" | "error" => Level::Error,
        "warn" | "warning" => Level::Warn,
        "debug" => Level::Debug,
        "trace" => Level::Trace,
        other => {
            section.warn("level", format!("{other:?} is no level; \"info\" is used"));
            Level::Info
        }
    };
    let format = match section.text_or_default("format").to_lowercase().as_str() {
        "text" => LogFormat::Human,
        "json" => LogFormat::Json,
        "discard" => {
            level = Level::Off;
            LogFormat::Human
        }
        other => {
            section.warn("format", format!("{other:?} is neither \"text\" nor \"json\"; \"text\" is used"));
            LogFormat::Human
        }
    };
    for name in ["textFields", "skipTextFields"] {
        if !section.texts(name).is_empty() {
            section.warn(name, "has no effect: fields are always shown");
        }
    }
    for name in ["graylog", "syslog"] {
        let host = section.take(name).and_then(|server| Some(server.get("host")?.as_str()?.to_owned()));
        if host.is_some_and(|host| !host.is_empty()) {
            section.warn(
                name,
                "has no effect: log lines go to standard error, from where a collector takes them",
            );
        }
    }
    section.end();
    Log { level, format }
}
