/* SPDX-License-Identifier: MIT */
/*
 * What a browser has drawn of the profile of tests/browser/made_up.c. A picture is read as
 *
 *   lanes   { name, left, right, top, bottom }       the strips, with the text beside them
 *   boxes   { colour, left, right, top, bottom }
 *   arrows  { from, to }                             points [x, y]; the head is at `to`
 *   hover(x, y)                                      the text that shows where the pointer rests
 *
 * in pixels of the window: of an SVG from the geometry that the browser made, of a canvas from the calls that
 * drew it. The same checks then hold for both. They leave lines in a <pre>: "ok ..." or "not ok ...", and
 * "pixel X Y RRGGBB" for what a screenshot must show.
 */
"use strict";
const checks = (() => { /* the page has names of its own */

const KERNEL = "#0072b2", UPLOAD = "#04a170", DOWNLOAD = "#d07b00", FAILED = "#d12f3f", LANE = "#f5f7f9";
const COLOURS = [KERNEL, UPLOAD, DOWNLOAD, FAILED];
const SPAN = 1000;

/* lane, start, end in microseconds, colour, and what the pointer finds out */
const COMMANDS = [
  ["upload", 100, 300, UPLOAD, ["write a", "1 MiB", "copy_h2d"]],
  ["upload", 300, 500, UPLOAD, ["write b"]],
  ["compute <2>", 300, 600, KERNEL, ["gelu", "kernel", "held back 300 us, by dependency"]],
  ["compute <2>", 600, 800, KERNEL, ["exp & more"]],
  ["download", 800, 900, DOWNLOAD, ["read", "copy_d2h"]],
  ["download", 920, 1000, FAILED, ["broken", "CLS_ERROR_COMMAND_FAILED, the first to fail"]],
];
const LANES = ["upload", "compute <2>", "download"];
/* indices of commands: from the one that ended to the one that waited */
const ARROWS = [[0, 2], [1, 3], [3, 4]];

const found = [];
const near = (a, b) => Math.abs(a - b) <= 1.5;
const within = (box, lane) => box.top >= lane.top - 1 && box.bottom <= lane.bottom + 1;

function expect(what, good, got) {
  found.push((good ? "ok " : "not ok ") + what + (good ? "" : ": " + JSON.stringify(got)));
}

function checkCommand(picture, command, lane, at) {
  const [name, start, end, colour, texts] = command;
  const what = texts[0] + " of " + name;
  const box = picture.boxes.find(b => b.colour === colour && within(b, lane) && near(b.left, at(start)));
  expect(what + " is a box from its start to its end", box && near(box.right, at(end)),
    [at(start), at(end), picture.boxes]);
  if (!box) return null;
  const x = Math.round(box.left + 3), y = Math.round(box.top + 4); /* no text and no arrow is there */
  const text = picture.hover(x, y);
  expect(what + " shows its facts under the pointer", texts.every(t => text.includes(t)), text);
  found.push("pixel " + x + " " + y + " " + colour.slice(1));
  return box;
}

function checkPicture(picture) {
  const lanes = LANES.map(name => picture.lanes.find(lane => lane.name === name));
  expect("there is a lane for each stream, in order, with its name beside it",
    picture.lanes.length === LANES.length && lanes.every(l => l) &&
    lanes.every((l, i) => !i || l.top > lanes[i - 1].bottom), picture.lanes);
  if (!lanes.every(l => l)) return;
  const at = us => lanes[0].left + us / SPAN * (lanes[0].right - lanes[0].left);
  const boxes = COMMANDS.map(c => checkCommand(picture, c, lanes[LANES.indexOf(c[0])], at));
  expect("there is no other box", picture.boxes.length === COMMANDS.length, picture.boxes);
  for (const [a, b] of ARROWS) {
    const from = boxes[a], to = boxes[b];
    expect("an arrow goes from " + COMMANDS[a][4][0] + " to " + COMMANDS[b][4][0],
      from && to && picture.arrows.some(w => near(w.from[0], from.right) && near(w.to[0], to.left) &&
        w.from[1] > from.top && w.from[1] < from.bottom && w.to[1] > to.top && w.to[1] < to.bottom),
      picture.arrows);
  }
  expect("there is no other arrow", picture.arrows.length === ARROWS.length, picture.arrows);
  const [empty] = lanes, x = Math.round(at(740)), y = Math.round((empty.top + empty.bottom) / 2);
  expect("where nothing runs there is nothing under the pointer", !picture.hover(x, y),
    picture.hover(x, y));
  found.push("pixel " + x + " " + y + " " + LANE.slice(1));
}

function report(check) {
  try { check(); } catch (error) { found.push("not ok " + error.stack); }
  const said = document.createElement("pre");
  said.id = "found";
  said.hidden = true;
  said.textContent = found.join("\n") + "\n";
  document.body.append(said);
}

/* --- an SVG, in the page --- */

const hex = rgb => "#" + rgb.match(/\d+/g).slice(0, 3).map(n => (+n).toString(16).padStart(2, "0")).join("");

function readSvg(svg) {
  const rectangles = cls => [...svg.querySelectorAll("rect." + cls)].filter(r => r.querySelector("title") ||
    cls === "l").map(r => { const b = r.getBoundingClientRect();
      return { left: b.left, right: b.right, top: b.top, bottom: b.bottom,
        colour: hex(getComputedStyle(r).fill) }; });
  const texts = [...svg.querySelectorAll("text")].map(t => [t.getBoundingClientRect(), t.textContent]);
  const beside = lane => texts.filter(([b]) => b.right < lane.left && b.top > lane.top - 2 &&
    b.bottom < lane.bottom + 2).map(([, text]) => text).join(" ");
  const arrows = [...svg.querySelectorAll("path.a")].filter(p => getComputedStyle(p).markerEnd !== "none" &&
    svg.querySelector("marker#tip")).map(p => { const m = p.getScreenCTM();
      const point = l => { const q = p.getPointAtLength(l).matrixTransform(m); return [q.x, q.y]; };
      return { from: point(0), to: point(p.getTotalLength()) }; });
  return {
    lanes: rectangles("l").map(lane => ({ ...lane, name: beside(lane) })),
    boxes: rectangles("k"), arrows,
    hover: (x, y) => document.elementFromPoint(x, y)?.querySelector(":scope > title")?.textContent
      .replace(/^clStream profile$/, ""),
  };
}

/* --- the page's canvas --- */

const calls = [];

/* Before the page's own script: keeps what is drawn, with the colour it is drawn in. */
function record() {
  const prototype = CanvasRenderingContext2D.prototype;
  for (const name of ["fillRect", "fillText", "moveTo", "bezierCurveTo"]) {
    const original = prototype[name];
    prototype[name] = function (...args) {
      calls.push({ name, args, fill: this.fillStyle });
      return original.apply(this, args);
    };
  }
}

/* The last drawing begins with the background over everything. */
function lastDrawing(width) {
  return calls.slice(calls.findLastIndex(c => c.name === "fillRect" && c.args[2] === width && !c.args[0]) + 1);
}

function readCanvas(canvas, tip) {
  const { left: dx, top: dy, width } = canvas.getBoundingClientRect();
  const last = lastDrawing(width);
  const rectangles = last.filter(c => c.name === "fillRect").map(({ args: [x, y, w, h], fill }) =>
    ({ left: dx + x, right: dx + x + w, top: dy + y, bottom: dy + y + h, colour: fill }));
  const names = [...document.querySelectorAll("#names div")].map(n => [n.getBoundingClientRect(), n.textContent]);
  const strips = rectangles.filter(r => r.colour === LANE);
  const curves = last.map((c, i) => c.name === "bezierCurveTo" ? [last[i - 1].args, c.args] : null)
    .filter(c => c);
  const hover = (x, y) => {
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    return getComputedStyle(tip).display === "none" ? "" : tip.textContent;
  };
  return {
    lanes: strips.map(lane => ({ ...lane, name: names.filter(([b]) => b.right <= lane.left &&
      b.top > lane.top - 2 && b.bottom < lane.bottom + 2).map(([, text]) => text).join(" ") })),
    boxes: rectangles.filter(r => COLOURS.includes(r.colour) && r.bottom - r.top > 10),
    arrows: curves.map(([a, b]) => ({ from: [dx + a[0], dy + a[1]], to: [dx + b[4], dy + b[5]] })),
    hover,
  };
}

/* --- what the page does --- */

function checkPage(canvas, tip) {
  const element = id => document.getElementById(id), time = element("time");
  const { left: dx, top: dy, width } = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {}; /* there is no pointer */
  const press = (key, target = document.body) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const wheel = options => {
    const event = new WheelEvent("wheel", { clientX: dx + width / 2, clientY: dy + 40, cancelable: true, ...options });
    canvas.dispatchEvent(event);
    return event.defaultPrevented;
  };
  const point = (type, x, y, options) => canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, ...options }));
  const ticks = () => lastDrawing(width).filter(c => c.name === "fillText" && c.args[2] < 20).map(c => c.args[0]);
  const shownRows = id => element(id).closest("section").hidden ? [] :
    [...element(id).rows].slice(1).map(row => [...row.cells].map(cell => cell.textContent));
  const whole = ticks().join();

  expect("the wheel scrolls the page", !wheel({ deltaY: -300 }) && ticks().join() === whole, ticks());
  expect("Ctrl and the wheel zoom", wheel({ deltaY: -300, ctrlKey: true }) && ticks().join() !== whole, ticks());
  for (let i = 0; i < 60; i++) press("w");
  expect("ticks differ from each other, zoomed in as far as it goes",
    ticks().length > 2 && new Set(ticks()).size === ticks().length, ticks());
  const before = ticks().join();
  press("d");
  expect("D moves on", ticks().join() !== before && new Set(ticks()).size === ticks().length, ticks());
  press("0");
  expect("0 shows all again", ticks().join() === whole, ticks());
  expect("ticks begin at 0 and end within the trace", /^0(\.0*)? /.test(ticks()[0]), ticks());

  element("find").value = "GELU";
  element("find").dispatchEvent(new Event("input"));
  expect("a search counts what it finds", element("found").textContent === "1 of 6", element("found").textContent);
  press("Enter", element("find"));
  expect("Enter goes to it", tip.textContent.startsWith("gelu\n300 us from 300 us"), tip.textContent);
  press("f");
  expect("F zooms to it", ticks().join() !== whole, ticks());
  press("ArrowRight", time);
  expect("an arrow key goes to the next command", tip.textContent.startsWith("exp & more"), tip.textContent);
  press("ArrowDown", time);
  expect("and to the row below", tip.textContent.startsWith("read"), tip.textContent);
  press("m");
  expect("M adds up its range", shownRows("sums").some(row => row.join() === "read,copy_d2h,1,100 us,100.0%"),
    shownRows("sums"));
  press("Escape");
  element("find").value = "";
  element("find").dispatchEvent(new Event("input"));
  press("0");
  expect("Escape leaves nothing chosen", !shownRows("sums").length && getComputedStyle(tip).display === "none", tip);

  const at = us => lanesLeft + us / SPAN * (dx + width - lanesLeft);
  const lanesLeft = dx + element("names").offsetWidth, bottom = dy + canvas.clientHeight;
  point("pointerdown", at(350), dy + 25);
  point("pointermove", at(450), bottom - 1);
  point("pointerup", at(450), bottom - 1);
  const sums = shownRows("sums");
  expect("a drag adds up what ran in a range", sums.length === 2 && ["gelu", "write b"].every(label =>
    sums.some(row => row[0] === label && row[2] === "1" && Math.abs(parseFloat(row[3]) - 100) < 3)), sums);
  point("pointerdown", at(350), dy + 25);
  point("pointermove", at(450), dy + 40);
  point("pointerup", at(450), dy + 40);
  expect("in the rows that it covers", shownRows("sums").length === 1 && shownRows("sums")[0][0] === "write b",
    shownRows("sums"));
  press("Escape");

  put("overlap", ["a", "b"], []);
  expect("an empty table shows no head", element("overlap").closest("section").hidden, "shown");
  expect("there is nothing to fold in one device", !document.querySelector("#names button"), "a button");
  data.lanes[2].device = 1;
  groups.push({ device: 1, top: 0, folded: false });
  layOut();
  draw();
  const fold = document.querySelectorAll("#names button")[0], lanes = () => document.querySelectorAll("#names div").length;
  expect("lanes stand below their device", fold.textContent.includes("device 0 (2)") && lanes() === 3, lanes());
  fold.click();
  expect("a device folds into one row", lanes() === 1 && lastDrawing(width).filter(c => c.name === "fillRect" &&
    c.fill === LANE).length === 2, lanes());
}

return { record, report, checkPicture, checkPage, readSvg, readCanvas };
})();
