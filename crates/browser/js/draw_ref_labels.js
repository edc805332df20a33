// Draws labelled boxes on a screenshot, outside the page.
async (data, boxes, type, quality) => {
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const draw = canvas.getContext("2d");
  draw.drawImage(picture, 0, 0);
  const colors = ["#d6336c", "#1971c2", "#2f9e44", "#e8590c", "#7048e8", "#0c8599"];
  draw.font = "bold 11px sans-serif";
  draw.textBaseline = "middle";
  boxes.forEach(([label, x, y, width, height], at) => {
    const color = colors[at % colors.length];
    draw.strokeStyle = color;
    draw.lineWidth = 1.5;
    draw.strokeRect(x + 0.75, y + 0.75, Math.max(width - 1.5, 1), Math.max(height - 1.5, 1));
    const wide = draw.measureText(label).width + 6;
    // Above the box where there is room, else inside it.
    const left = Math.min(Math.max(x, 0), canvas.width - wide);
    const top = y >= 14 ? y - 14 : Math.max(y, 0);
    draw.fillStyle = color;
    draw.fillRect(left, top, wide, 14);
    draw.fillStyle = "#fff";
    draw.fillText(label, left + 3, top + 7.5);
  });
  const drawn = new Uint8Array(await (await canvas.convertToBlob({ type, quality })).arrayBuffer());
  let text = "";
  for (let at = 0; at < drawn.length; at += 32768) text += String.fromCharCode(...drawn.subarray(at, at + 32768));
  return btoa(text);
}
