// SPDX-License-Identifier: Apache-2.0
/* How the timeline is looked at: by keys, by the mouse, and by buttons. */

const LEAST_VIEW = 100; // ns

/* What is seen, and what changes that; draw() follows each change. */
class TimelineView {
	constructor(items, begin, length, draw, tell) {
		Object.assign(this, { items, begin, length, draw, tell, from: 0, to: length, room: 1,
				      selected: null });
	}

	show(from, to) {
		const length = Math.min(Math.max(to - from, LEAST_VIEW), this.length - this.begin);

		this.from = Math.min(Math.max(this.begin, from), this.length - length);
		this.to = this.from + length;
		this.draw();
	}

	zoom(factor, at = (this.from + this.to) / 2) {
		this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	pan(share) {
		const by = share * (this.to - this.from);

		this.show(this.from + by, this.to + by);
	}

	select(item) {
		this.selected = item;
		this.draw();
		this.tell(item);
	}

	/* To the next event in time, or the one before; what is seen follows it. */
	step(by) {
		const at = this.selected ? this.items.indexOf(this.selected) + by : 0;
		const item = this.items[Math.min(Math.max(0, at), this.items.length - 1)];
		const length = this.to - this.from;

		if (item.from > this.to || item.to < this.from)
			this.show(item.from - length / 2, item.from + length / 2);
		this.select(item);
	}

	zoomToSelected() {
		const { from, to } = this.selected || { from: 0, to: this.length };

		this.show(from - (to - from), to + (to - from));
	}

	showAll() {
		this.show(this.begin, this.length);
	}
}

function timelineKeys(view) {
	return {
		ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2),
		ArrowDown: () => view.step(1), ArrowUp: () => view.step(-1),
		"+": () => view.zoom(0.5), "=": () => view.zoom(0.5), "-": () => view.zoom(2),
		Home: () => view.showAll(), Enter: () => view.zoomToSelected(),
	};
}

function timelineMouse(box, canvas, lanes, view) {
	let dragged = null;

	function at(event) {
		const place = canvas.getBoundingClientRect(), scale = (view.to - view.from) / view.room;
		const y = event.clientY - place.top;
		const lane = lanes.find(({ top, height }) => top <= y && y < top + height);
		const part = lane?.parts.findLast(({ top }) => lane.top + top <= y)?.kind;
		const ns = view.from + (event.clientX - place.left - GUTTER) * scale, near = 2 * scale;
		const isThere = (item) => item.from <= ns && ns <= item.to;
		const isNear = (item) => item.from - near <= ns && ns <= item.to + near;

		return { ns, item: lane?.items.findLast((item) => item.kind === part && isThere(item)) ||
				   lane?.items.findLast(isNear) || null };
	}

	box.addEventListener("wheel", (event) => {
		if (!event.ctrlKey)
			return; // the page scrolls
		event.preventDefault();
		view.zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event).ns);
	}, { passive: false });
	box.addEventListener("pointerdown", (event) => {
		dragged = { x: event.clientX, from: view.from, to: view.to };
		view.select(at(event).item);
	});
	box.addEventListener("pointerup", () => {
		dragged = null;
	});
	box.addEventListener("pointermove", (event) => {
		if (dragged && event.buttons) {
			const by = (event.clientX - dragged.x) * (dragged.to - dragged.from) / view.room;

			view.show(dragged.from - by, dragged.to - by);
		} else {
			view.tell(at(event).item || view.selected);
		}
	});
}

/* Null if there is nothing to show. */
function timelineView(context) {
	const items = timelineItems(context), lanes = timelineLanes(items, context);
	const arrows = recordedArrows(items, lanes, context);
	const begin = context.recorded ? Math.min(0, numberOf(context.recorded.from_ns)) : 0;
	const threads = lanes.filter((lane) => typeof lane.key === "number").length;
	const status = el("p", { role: "status", class: "told" });
	const canvas = el("canvas", { "aria-hidden": "true" });
	const tell = (item) => {
		status.textContent = item ? `${item.name}: ${item.text()}, ${
			timeText(item.to - item.from)}, at ${grouped(item.from / 1e6)} ms` : "";
	};
	const view = new TimelineView(items, begin, context.length,
				      () => timelineDraw(canvas, lanes, arrows, view), tell);
	const keys = timelineKeys(view);
	const button = (title, onclick) => el("button", { type: "button", onclick }, title);
	const box = el("div", { class: "timeline", tabindex: 0, role: "application",
				"aria-label": `Timeline of ${threads} threads, ${items.length} events`,
				"aria-describedby": "timeline-keys", onkeydown: (event) => {
		if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		keys[event.key]();
		event.preventDefault();
	} }, canvas);

	if (!items.length)
		return null;
	timelineMouse(box, canvas, lanes, view);
	new ResizeObserver(() => view.draw()).observe(box);
	document.addEventListener("theme", () => view.draw());
	return [
		el("p", { id: "timeline-keys", class: "hint" },
		   "Drag or use the arrow keys left and right to move, + and - (or Ctrl and the wheel) " +
		   "to zoom, up and down for one event after the other, Enter to zoom to it, Home for all."),
		el("p", { class: "tools" }, button("Zoom in", () => view.zoom(0.5)),
		   button("Zoom out", () => view.zoom(2)), button("All", () => view.showAll()),
		   begin < 0 && button("The window", () => view.show(0, view.length))),
		box, status,
	];
}
