//! What is said about programs and files inside a guest: one row a type, members in schema order.

use jiff::Timestamp;

use crate::Hidden;
use crate::wire::{objects, variants};

objects! {
    /// A user of the guest with a password.
    NamePasswordAuthentication {
        interactive_session: bool = "interactiveSession",
        username: String = "username",
        password: Hidden = "password",
    }

    /// A program to start. The arguments are one text, which the guest takes apart; an environment that is given
    /// replaces the guest's own.
    GuestProgramSpec {
        program_path: String = "programPath",
        arguments: String = "arguments",
        working_directory: Option<String> = "workingDirectory",
        env_variables: Vec<String> = "envVariables",
    }

    /// A process of the guest. Ended ones are shown for some minutes; servers may omit an exit code of 0.
    GuestProcessInfo {
        name: String = "name",
        pid: i64 = "pid",
        owner: String = "owner",
        cmd_line: String = "cmdLine",
        start_time: Timestamp = "startTime",
        end_time: Option<Timestamp> = "endTime",
        exit_code: Option<i32> = "exitCode",
    }

    /// Who may do what with a file.
    #[derive(Default)]
    GuestPosixFileAttributes {
        modification_time: Option<Timestamp> = "modificationTime",
        access_time: Option<Timestamp> = "accessTime",
        symlink_target: Option<String> = "symlinkTarget",
        owner_id: Option<i32> = "ownerId",
        group_id: Option<i32> = "groupId",
        permissions: Option<i64> = "permissions",
    }

    /// A file, a directory or a link.
    GuestFileInfo {
        path: String = "path",
        kind: String = "type",
        size: i64 = "size",
        attributes: GuestFileAttributes = "attributes",
    }

    /// What is in a directory, and how much of it is not told.
    GuestListFileInfo {
        files: Vec<GuestFileInfo> = "files",
        remaining: i32 = "remaining",
    }

    /// Where a file can be fetched. The address may have `*` for a host: the server that was asked. Whoever knows it may
    /// fetch the file.
    FileTransferInformation {
        attributes: Option<GuestFileAttributes> = "attributes",
        size: i64 = "size",
        url: Hidden = "url",
    }
}

variants! {
    /// How a user of the guest proves who they are.
    GuestAuthentication of "GuestAuthentication" { NamePasswordAuthentication }
    /// A program of one kind of guest.
    GuestProgram of "GuestProgramSpec" { GuestProgramSpec }
    /// The attributes of a file in one kind of guest.
    GuestFileAttributes of "GuestFileAttributes" { GuestPosixFileAttributes }
}
