//! The macro that defines a domain: request structs, reply structs, events, and the list of protocol uses.

/// Defines the used part of one domain. All optional fields are lenient: none is sent unless set, none is
/// required when read.
macro_rules! domain {
    (
        $domain:literal;
        $( types { $( $(#[$types_meta:meta])* type $types:ident { $( $(#[$tm:meta])* $tf:ident: $tt:ty ),* $(,)? } )* } )?
        methods { $( $(#[$method_meta:meta])* fn $name:literal $method:ident {
            $( $(#[$pm:meta])* $pf:ident: $pt:ty ),* $(,)?
        } -> $reply:ident { $( $(#[$rm:meta])* $rf:ident: $rt:ty ),* $(,)? } )* }
        $( events { $( $(#[$event_meta:meta])* event $event_name:literal $event:ident {
            $( $(#[$em:meta])* $ef:ident: $et:ty ),* $(,)?
        } )* } )?
    ) => {
        $( $(
            $(#[$types_meta])*
            #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $types { $(
                $(#[$tm])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $tf: Option<$tt>,
            )* }
        )* )?
        $(
            $(#[$method_meta])*
            #[derive(Clone, Debug, Default, serde::Serialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $method { $(
                $(#[$pm])*
                #[serde(skip_serializing_if = "crate::protocol::define::is_unset")]
                pub $pf: $pt,
            )* }

            #[doc = concat!("What `", $domain, ".", $name, "` answers.")]
            #[derive(Clone, Debug, Default, serde::Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $reply { $( $(#[$rm])* pub $rf: Option<$rt>, )* }

            impl crate::protocol::Method for $method {
                const NAME: &'static str = concat!($domain, ".", $name);
                type Reply = $reply;
            }
        )*
        $( $(
            $(#[$event_meta])*
            #[derive(Clone, Debug, Default, serde::Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $event { $( $(#[$em])* pub $ef: Option<$et>, )* }

            impl crate::protocol::CdpEvent for $event {
                const NAME: &'static str = concat!($domain, ".", $event_name);
            }
        )* )?
        /// Every method, event and type of this domain that is used.
        pub const USES: &[crate::protocol::ProtocolUse] = &[
            $( crate::protocol::ProtocolUse {
                name: concat!($domain, ".", $name),
                kind: crate::protocol::ProtocolUseKind::Method,
                sent: &[$(crate::protocol::ProtocolUseField::new(stringify!($pf), stringify!($pt))),*],
                read: &[$(crate::protocol::ProtocolUseField::new(stringify!($rf), stringify!($rt))),*],
            }, )*
            $( $( crate::protocol::ProtocolUse {
                name: concat!($domain, ".", $event_name),
                kind: crate::protocol::ProtocolUseKind::Event,
                sent: &[],
                read: &[$(crate::protocol::ProtocolUseField::new(stringify!($ef), stringify!($et))),*],
            }, )* )?
            $( $( crate::protocol::ProtocolUse {
                name: concat!($domain, ".", stringify!($types)),
                kind: crate::protocol::ProtocolUseKind::Type,
                sent: &[],
                read: &[$(crate::protocol::ProtocolUseField::new(stringify!($tf), stringify!($tt))),*],
            }, )* )?
        ];
    };
}
pub(crate) use domain;

/// True for a parameter that is unset and therefore not sent. Required parameters are plain types and always
/// sent.
pub(crate) fn is_unset<T: Parameter>(value: &T) -> bool {
    value.is_unset()
}

/// A parameter value that can be absent.
pub(crate) trait Parameter {
    fn is_unset(&self) -> bool {
        false
    }
}

impl<T> Parameter for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}
impl Parameter for String {}
impl<T> Parameter for Vec<T> {}
impl Parameter for bool {}
impl Parameter for u32 {}
impl Parameter for i64 {}
impl Parameter for f64 {}
