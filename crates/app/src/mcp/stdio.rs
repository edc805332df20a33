//! The stdio transport: one JSON-RPC message per line.
//!
//! Malformed requests get an error response under their own id, so that the client does not wait for one. Reading pauses
//! while the client does not read its responses.

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};

/// Maximum length of a line.
const MAX_LINE: usize = 16 << 20;

/// Maximum of unanswered requests. Above it, reading pauses: the client does not read its responses.
const MAX_UNANSWERED: usize = 500;

/// Supported methods, for which invalid parameters are reported.
const METHODS: [&str; 4] = ["initialize", "tools/call", "tools/list", "server/discover"];

const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// The transport over two pipes.
pub(super) struct StdioTransport<R, W> {
    read: BufReader<R>,
    /// The part of the current line that was read.
    line: Vec<u8>,
    /// The current line is too long: its rest is skipped.
    is_skipping: bool,
    /// The client has sent a request. Messages before that are ignored.
    has_request: bool,
    /// Parsed messages that are not delivered yet.
    waiting: VecDeque<ClientJsonRpcMessage>,
    out: Arc<Writer<W>>,
}

/// The output side.
struct Writer<W> {
    write: Mutex<Option<W>>,
    /// Unanswered requests.
    open: std::sync::Mutex<HashSet<RequestId>>,
    /// Notified when a request is answered.
    answered: Notify,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn send(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        match &mut *self.write.lock().await {
            Some(write) => {
                write.write_all(&line).await?;
                write.flush().await
            }
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes an answered or cancelled request.
    fn close(&self, id: &RequestId) {
        self.open().remove(id);
        self.answered.notify_one();
    }
}

/// Result of reading a line.
enum ReadLine {
    Whole,
    TooLong,
    End,
}

/// Result of parsing a message.
#[derive(Debug)]
enum Parsed {
    Message(Box<ClientJsonRpcMessage>),
    /// Invalid, with its error response.
    Wrong(Value),
    Nothing,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> StdioTransport<R, W> {
    pub(super) fn new(read: R, write: W) -> Self {
        let write = Mutex::new(Some(write));
        let out = Writer { write, open: Default::default(), answered: Notify::new() };
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            is_skipping: false,
            has_request: false,
            waiting: VecDeque::new(),
            out: Arc::new(out),
        }
    }

    /// Reads up to the end of a line. Cancel-safe: the next call continues.
    async fn read_line(&mut self) -> io::Result<ReadLine> {
        loop {
            let found = self.read.fill_buf().await?;
            if found.is_empty() {
                return Ok(ReadLine::End);
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(found.len(), |end| end + 1);
            let is_too_long = self.line.len() + count > MAX_LINE;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(&found[..count]);
            }
            self.read.consume(count);
            if is_too_long && !self.is_skipping {
                self.line = Vec::new();
                self.is_skipping = end.is_none();
                return Ok(ReadLine::TooLong);
            }
            match end {
                Some(_) if self.is_skipping => self.is_skipping = false,
                Some(_) => return Ok(ReadLine::Whole),
                None => {}
            }
        }
    }

    /// Parses a line into the message queue; responds to invalid messages.
    fn enqueue(&mut self, line: &[u8]) {
        let all = match serde_json::from_slice::<Vec<Value>>(line) {
            // A batch, as in older protocol revisions.
            Ok(all) if !all.is_empty() => {
                all.iter().map(|one| parse_message(one.to_string().as_bytes())).collect()
            }
            _ => vec![parse_message(line)],
        };
        for one in all {
            match one {
                Parsed::Message(message) => self.waiting.push_back(*message),
                Parsed::Wrong(answer) => self.answer(&answer),
                Parsed::Nothing => {}
            }
        }
    }

    /// Sends an error response in a task of its own: the reading future may be dropped at any time.
    fn answer(&self, answer: &Value) {
        let (out, line) = (self.out.clone(), answer.to_string().into_bytes());
        tokio::spawn(async move { out.send(line).await });
    }

    async fn next(&mut self) -> io::Result<Option<ClientJsonRpcMessage>> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                match &message {
                    JsonRpcMessage::Request(request) => {
                        self.has_request = true;
                        self.out.open().insert(request.id.clone());
                    }
                    JsonRpcMessage::Notification(notification) => {
                        if let ClientNotification::CancelledNotification(it) =
                            &notification.notification
                            && let Some(id) = &it.params.request_id
                        {
                            self.out.close(id);
                        }
                    }
                    _ => {}
                }
                if self.has_request {
                    return Ok(Some(message));
                }
                continue;
            }
            while self.out.open().len() > MAX_UNANSWERED {
                self.out.answered.notified().await;
            }
            match self.read_line().await? {
                ReadLine::End => return Ok(None),
                ReadLine::TooLong => {
                    let message = format!("a message may have {MAX_LINE} bytes");
                    self.answer(&error(&Value::Null, INVALID_REQUEST, &message));
                }
                ReadLine::Whole => {
                    let line = std::mem::take(&mut self.line);
                    self.enqueue(line.trim_ascii());
                    self.line = line;
                    self.line.clear();
                    self.line.shrink_to(1 << 16);
                }
            }
        }
    }
}

/// Parses a message.
fn parse_message(text: &[u8]) -> Parsed {
    // No response to invalid JSON: it may be an echo of our own output.
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return Parsed::Nothing };
    let wrong = |code, message: &str| {
        Parsed::Wrong(error(value.get("id").unwrap_or(&Value::Null), code, message))
    };
    let method = value.get("method").and_then(Value::as_str);
    match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
        Ok(JsonRpcMessage::Request(request)) => match (&request.request, method) {
            (ClientRequest::CustomRequest(_), Some(method)) if METHODS.contains(&method) => {
                match with_parsed_arguments(&value) {
                    Some(message) => Parsed::Message(Box::new(message)),
                    None => wrong(INVALID_PARAMS, &expected_params(method)),
                }
            }
            _ => Parsed::Message(Box::new(JsonRpcMessage::Request(request))),
        },
        Ok(message) => Parsed::Message(Box::new(message)),
        // Notifications and responses get no response.
        Err(_) if method.is_some() && value.get("id").is_none() => Parsed::Nothing,
        Err(_) if value.get("result").is_some() || value.get("error").is_some() => Parsed::Nothing,
        Err(_) => match with_parsed_arguments(&value) {
            Some(message) => Parsed::Message(Box::new(message)),
            None if method.is_some_and(|method| METHODS.contains(&method))
                && has_valid_id(&value) =>
            {
                wrong(INVALID_PARAMS, &expected_params(method.unwrap_or_default()))
            }
            None => wrong(
                INVALID_REQUEST,
                "expected a request of JSON-RPC 2.0: `jsonrpc`, `id` (a text or a whole number), `method`, `params`",
            ),
        },
    }
}

/// True if the request has a valid id.
fn has_valid_id(value: &Value) -> bool {
    value.get("id").is_some_and(|id| id.is_string() || id.is_i64())
}

/// Parses a call whose arguments are an object in a string, as some models write them.
fn with_parsed_arguments(value: &Value) -> Option<ClientJsonRpcMessage> {
    let arguments = value.get("params")?.get("arguments")?.as_str()?;
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let mut value = value.clone();
    value["params"]["arguments"] = arguments.is_object().then_some(arguments)?;
    match serde_json::from_str::<ClientJsonRpcMessage>(&value.to_string()).ok()? {
        JsonRpcMessage::Request(request) => {
            let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
            is_call.then_some(JsonRpcMessage::Request(request))
        }
        _ => None,
    }
}

fn expected_params(method: &str) -> String {
    match method {
        "tools/call" => {
            "tools/call takes `params` with `name`, a text, and `arguments`, an object".to_owned()
        }
        method => format!("the `params` of {method} cannot be read"),
    }
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (out, line) = (self.out.clone(), serde_json::to_vec(&item));
        let id = match item {
            JsonRpcMessage::Response(response) => Some(response.id),
            JsonRpcMessage::Error(error) => error.id,
            _ => None,
        };
        async move {
            let sent = out.send(line?).await;
            if let Some(id) = id {
                out.close(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        match self.next().await {
            Ok(message) => message,
            Err(error) => {
                tracing::debug!(%error, "the client's pipes are broken");
                None
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.out.write.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the result of a line: `message`, `nothing`, or code and id of the error response.
    fn check(line: &str, expected: &str) {
        let result = match parse_message(line.as_bytes()) {
            Parsed::Message(_) => "message".to_owned(),
            Parsed::Nothing => "nothing".to_owned(),
            Parsed::Wrong(answer) => format!("{} {}", answer["error"]["code"], answer["id"]),
        };
        assert_eq!(result, expected, "{line}");
    }

    #[test]
    fn invalid_message_gets_an_error_under_its_id() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "message");
        check(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"x"}"#, "-32602 5");
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":5}}"#,
            "-32602 \"a\"",
        );
        check(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call"}"#, "-32602 6");
        check(r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "-32600 7");
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 1.5");
        check(r#"{"id":8}"#, "-32600 8");
        check("5", "-32600 null");
        check("no JSON", "nothing");
        check(r#"{"jsonrpc":"2.0","method":"notifications/odd","params":5}"#, "nothing");
        check(r#"{"jsonrpc":"2.0","id":9,"error":"odd"}"#, "nothing");
    }

    #[test]
    fn arguments_in_a_string_are_parsed() {
        let call = |arguments: &str| {
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "browser_click", "arguments": arguments } })
            .to_string()
        };
        let Parsed::Message(message) = parse_message(call(r#"{"ref":"e1"}"#).as_bytes()) else {
            panic!("not understood");
        };
        assert!(serde_json::to_string(&message).unwrap().contains(r#""arguments":{"ref":"e1"}"#));
        check(&call("e1"), "-32602 1");
        check(&call("[1]"), "-32602 1");
    }

    #[tokio::test]
    async fn long_lines_are_skipped_and_early_notifications_ignored() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let (read, write) = tokio::io::split(server);
        let mut transport = StdioTransport::new(read, write);
        let say = tokio::spawn(async move {
            let early = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\n";
            client.write_all(early).await.unwrap();
            let long = vec![b'x'; MAX_LINE + 1];
            client.write_all(&long).await.unwrap();
            let two = b"\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]\n";
            client.write_all(two).await.unwrap();
            let mut answer = String::new();
            BufReader::new(&mut client).read_line(&mut answer).await.unwrap();
            answer
        });
        for id in [1, 2] {
            let message = serde_json::to_value(transport.receive().await.unwrap()).unwrap();
            assert_eq!((&message["id"], &message["method"]), (&json!(id), &json!("ping")));
        }
        assert!(say.await.unwrap().contains("-32600"));
        assert!(transport.receive().await.is_none());
    }
}
