//! Media elements with controls: a click on the ref plays and pauses them, and snapshots show the playing state.

use crate::harness::browser_test;
use crate::probes::{describe, matches_outcome};
use crate::snapshot::{ref_of, snapshot_text};
use agbrowse_browser::command::Snapshot;

/// Ten seconds of silence, and a recording of a canvas.
const PLAYERS: &str = "<!doctype html><title>Players</title><audio controls aria-label=Song></audio>
    <video controls aria-label=Film width=320 height=180></video><script>
    const rate = 8000, bytes = new Uint8Array(44 + 10 * rate).fill(128), view = new DataView(bytes.buffer);
    const put = (at, text) => [...text].forEach((letter, index) => bytes[at + index] = letter.charCodeAt());
    put(0, 'RIFF'); view.setUint32(4, bytes.length - 8, true); put(8, 'WAVEfmt '); view.setUint32(16, 16, true);
    view.setUint16(20, 1, true); view.setUint16(22, 1, true); view.setUint32(24, rate, true); view.setUint32(28, rate, true);
    view.setUint16(32, 1, true); view.setUint16(34, 8, true); put(36, 'data'); view.setUint32(40, 10 * rate, true);
    const [song, film] = document.querySelectorAll('audio, video');
    song.src = URL.createObjectURL(new Blob([bytes], { type: 'audio/wav' }));
    const canvas = document.createElement('canvas'), brush = canvas.getContext('2d');
    const draw = () => { brush.fillStyle = `hsl(${Math.random()}turn 50% 50%)`; brush.fillRect(0, 0, 9, 9); };
    const drawing = setInterval(draw, 20);
    const recorder = new MediaRecorder(canvas.captureStream());
    recorder.ondataavailable = ({ data }) => {
      if (film.src !== '' || data.size === 0) return;
      film.src = URL.createObjectURL(data);
      recorder.stop();
      clearInterval(drawing);
    };
    recorder.start(500);
    for (const it of [song, film]) { it.muted = true; it.loop = true; }
    </script>";

#[test]
fn click_plays_and_pauses_media_and_reports_it() {
    browser_test(async |t| {
        t.page("/", PLAYERS);
        t.open("/").await;
        t.wait_until("song.readyState === 4 && film.readyState === 4").await;
        for (media, line) in [("song", "audio \"Song\""), ("film", "video \"Film\"")] {
            let text = snapshot_text(&t, Snapshot::default()).await;
            assert!(!text.contains("playing"), "{text}");
            let target = ref_of(&text, line);
            for is_playing in [true, false] {
                let command = serde_json::json!({ "verb": "click", "target": target });
                let outcome = t.run(serde_json::from_value(command).unwrap()).await;
                // Video plays once the double-click interval is over, which may be after the receipt.
                let is_told = media == "film" || matches_outcome("changed +media", &outcome);
                assert!(is_told, "{media}: {}", describe(&outcome));
                t.wait_until(&format!("{media}.paused !== {is_playing}")).await;
                let text = snapshot_text(&t, Snapshot::default()).await;
                let shown = text.lines().find(|it| it.contains(line)).unwrap_or_default();
                assert_eq!(shown.contains("value=\"playing\""), is_playing, "{text}");
            }
        }
    });
}
