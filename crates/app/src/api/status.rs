//! The HTTP status of each error code. `docs/errors.md` lists it.

use axum::http::StatusCode;
use browser::Code;

/// The HTTP status of a reply with this error. 408 is not used: clients repeat a request after it, and the command may
/// have been done.
pub fn http_status(code: Code) -> StatusCode {
    match code {
        Code::CommandInvalid | Code::ConfigInvalid | Code::StorageInvalid => {
            StatusCode::BAD_REQUEST
        }
        Code::AccessDenied | Code::AskDeclined | Code::AskUnavailable => StatusCode::FORBIDDEN,
        Code::BrowserContextNotFound
        | Code::SecretNotFound
        | Code::SessionNotFound
        | Code::SnapshotRefNotFound
        | Code::SnapshotRootNotFound
        | Code::TabNotFound
        | Code::TargetNotFound => StatusCode::NOT_FOUND,
        Code::BrowserLost
        | Code::BrowserOptionsConflict
        | Code::CdpHeadless
        | Code::CdpTargetMismatch
        | Code::ProviderAnswerStreaming
        | Code::ProviderCommitUnknown
        | Code::ProviderLoginRequired
        | Code::NavigationNoEntry
        | Code::PageDialogOpen
        | Code::PageNoDialog
        | Code::ProfileLocked
        | Code::SessionTargetAmbiguous
        | Code::SnapshotRefStale
        | Code::TabCrashed
        | Code::TabTargetLost
        | Code::TargetAmbiguous => StatusCode::CONFLICT,
        Code::DaemonFrameTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::ActHidden
        | Code::ActDisabled
        | Code::ActInert
        | Code::ActCovered
        | Code::ActMoving
        | Code::ActNotEditable
        | Code::ActMissed
        | Code::ActNotTaken
        | Code::ActNoEffect
        | Code::ActNoOption
        | Code::CapabilityUnsupported
        | Code::ContextOverBudget
        | Code::ContextSymlinkRejected
        | Code::EvalThrew
        | Code::EvalNotSerializable
        | Code::FileReadFailed
        | Code::ProviderAttachmentEvidenceMissing
        | Code::ProviderAttachmentPreflight
        | Code::ProviderCommitNotVerified
        | Code::ProviderComposerNotVisible
        | Code::ProviderModelMismatch
        | Code::TargetUnresolved => StatusCode::UNPROCESSABLE_ENTITY,
        Code::CdpUnreachable | Code::DownloadFailed | Code::NavigationFailed => {
            StatusCode::BAD_GATEWAY
        }
        Code::DaemonBusy | Code::DaemonStopping => StatusCode::SERVICE_UNAVAILABLE,
        Code::CommandTimeout
        | Code::DaemonUnresponsive
        | Code::NavigationTimeout
        | Code::PageUnresponsive
        | Code::TabBusy
        | Code::WaitTimeout => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_the_family_of_a_code() {
        for code in Code::ALL {
            let status = http_status(*code).as_u16();
            match code.as_str() {
                name if name.starts_with("act.") => assert_eq!(status, 422, "{name}"),
                name if name.ends_with(".not-found") && name != "browser.not-found" => {
                    assert_eq!(status, 404, "{name}");
                }
                name if name.ends_with("timeout") => assert_eq!(status, 504, "{name}"),
                name => assert!((400..=504).contains(&status) && status != 408, "{name}"),
            }
        }
    }
}
