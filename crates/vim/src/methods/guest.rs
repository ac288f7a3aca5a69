//! Methods that act inside a guest, each with the guest's own user and password.

use super::methods;
use crate::guest::{
    FileTransferInformation, GuestAuthentication, GuestFileAttributes, GuestProcessInfo, GuestProgram,
};
use crate::{Hidden, MoRef};

methods! {
    /// Whether a user and password are right; a fault if not.
    ValidateCredentialsInGuest = "ValidateCredentialsInGuest", repeatable: true, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
    }
    /// Starts a program; the answer, its process id, comes before the program ends.
    StartProgramInGuest = "StartProgramInGuest", repeatable: false, returns i64 {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        spec: GuestProgram = "spec",
    }
    /// The processes with these ids, or all.
    ListProcessesInGuest = "ListProcessesInGuest", repeatable: true, returns Vec<GuestProcessInfo> {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        pids: Vec<i64> = "pids",
    }
    /// Ends a program.
    TerminateProcessInGuest = "TerminateProcessInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        pid: i64 = "pid",
    }
    /// Where to send a file's content to; it must have exactly this size. Whoever knows the address may write the file.
    InitiateFileTransferToGuest = "InitiateFileTransferToGuest", repeatable: true, returns Hidden {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        guest_file_path: String = "guestFilePath",
        file_attributes: GuestFileAttributes = "fileAttributes",
        file_size: i64 = "fileSize",
        overwrite: bool = "overwrite",
    }
    /// Where to fetch a file's content.
    InitiateFileTransferFromGuest = "InitiateFileTransferFromGuest", repeatable: true, returns FileTransferInformation {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        guest_file_path: String = "guestFilePath",
    }
    /// An empty file of a name that nobody else has.
    CreateTemporaryFileInGuest = "CreateTemporaryFileInGuest", repeatable: false, returns String {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        prefix: String = "prefix",
        suffix: String = "suffix",
        directory_path: Option<String> = "directoryPath",
    }
    /// Removes a file.
    DeleteFileInGuest = "DeleteFileInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        file_path: String = "filePath",
    }
}
