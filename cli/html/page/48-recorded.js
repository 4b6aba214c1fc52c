// SPDX-License-Identifier: Apache-2.0
/* What was recorded: states of threads over time, who had the CPUs, and who woke whom, as items of
 * the timeline. Where there was too much for a page, short states are merged: such an item has the
 * shares of its parts. */

const ARROWS_AT_ONCE = 150; // where more are in view, those of the critical path alone

function recordedName(tid, { threads }) {
	const thread = threads.find((each) => each.tid === tid);

	return thread ? whoText(thread) : `thread ${tid}`;
}

function stateTitle(state, { words }) {
	return words.states[state] || (state ? titleOf(state) : "unknown");
}

/* A state with all that is known of it, or who has a CPU. */
function kindText(kind, context) {
	const { recorded, words } = context, isBlocked = /^blocked/.test(kind.state);
	const awaited = kind.awaited || "other";

	if ("name" in kind)
		return textOf(kind, "name");
	return [stateTitle(kind.state, context),
		isBlocked && `for ${words.awaited[awaited] || titleOf(awaited)}`,
		kind.call && `in ${objectText(kind.call) || "a system call"}`,
		kind.waker ? `ended by ${recordedName(kind.waker, recorded)}`
			   : kind.ended_by && `ended by ${kind.ended_by}`,
		kind.holder && `the lock held by ${recordedName(kind.holder, recorded)}`,
		!isBlocked && `CPU ${kind.cpu}`].filter(Boolean).join(", ");
}

function partsText(parts, context) {
	const whole = parts.reduce((sum, part) => sum + part.ns, 0);

	return `short states: ${parts.toSorted((a, b) => b.ns - a.ns).map((part) =>
		`${stateTitle(part.state, context)} ${shareText(part.ns, whole)}`).join(", ")}`;
}

/* [class, ns, class, ns, ...] */
function partsOf(numbers, classes) {
	const parts = [];

	for (let i = 0; i < numbers.length; i += 2)
		parts.push({ state: classes[numbers[i]], ns: numberOf(numbers[i + 1]) });
	return parts;
}

/* A lane's pieces, in the order of time. */
function recordedPieces(lane, common, context) {
	const { recorded } = context;
	let at = numberOf(recorded.from_ns), merged = 0;

	return lane.kind.map((number, i) => {
		const kind = recorded.kinds[number], from = at + numberOf(lane.after[i]);
		const parts = kind ? [{ state: kind.state, ns: 1 }]
				   : partsOf(lane.parts[merged++], recorded.classes);

		at = from + numberOf(lane.ns[i]);
		return { ...common, from, to: at, parts, state: parts[0].state, waker: kind?.waker,
			 text: () => (kind ? kindText(kind, context) : partsText(parts, context)) };
	});
}

function recordedItems(context) {
	const { recorded } = context;

	if (!recorded)
		return [];
	return [
		recorded.threads.map((lane) => recordedPieces(lane,
			{ kind: "state", lane: lane.tid, name: whoText(lane) }, context)),
		recorded.cpus.map((lane) => recordedPieces(lane,
			{ kind: "cpu", lane: `CPU ${lane.cpu}`, name: `CPU ${lane.cpu}` }, context)),
	].flat(2);
}

/* Beyond 2^53 times are rounded. */
function wakeKey(waker, woken, at) {
	return `${waker} ${woken} ${Math.round(at / 16)}`;
}

/* Where the critical path goes from one thread to another that it woke. */
function wakesOnPath(rows, start) {
	const keys = new Set();

	rows.forEach((row, i) => {
		for (const by of i ? [-8, 8] : [])
			keys.add(wakeKey(rows[i - 1].thread.tid, row.thread.tid,
					 numberOf(row.start_ns) - start + by));
	});
	return keys;
}

/* [{ at, from, to, isPath, item }]: lanes of who woke whom, of those that have one. */
function recordedArrows(items, lanes, { sample, start }) {
	const known = new Map(lanes.map((lane) => [lane.key, lane]));
	const path = wakesOnPath(pathRows({ sample }), start);
	const woken = items.filter((item) => item.waker && known.has(item.waker));

	return woken.map((item) => ({ at: item.to, from: known.get(item.waker), to: known.get(item.lane), item,
				      isPath: path.has(wakeKey(item.waker, item.lane, item.to)) }));
}

function arrowDraw(pen, { from, to }, left) {
	const [start, end] = [from, to].map((lane) => lane.top + lane.height / 2), tip = end < start ? 5 : -5;

	pen.beginPath();
	pen.moveTo(left, start);
	pen.lineTo(left, end);
	pen.moveTo(left - 3, end + tip);
	pen.lineTo(left, end);
	pen.lineTo(left + 3, end + tip);
	pen.stroke();
}

/* Those in view; if these are too many, of the critical path and of what is selected. */
function arrowsDraw(pen, arrows, view, x, ink) {
	const seen = arrows.filter(({ at }) => at >= view.from && at <= view.to);
	const isCrowded = seen.length > ARROWS_AT_ONCE;

	pen.strokeStyle = ink;
	for (const arrow of seen) {
		pen.lineWidth = arrow.isPath || arrow.item === view.selected ? 2 : 0.7;
		if (!isCrowded || arrow.isPath || arrow.item === view.selected)
			arrowDraw(pen, arrow, x(arrow.at));
	}
}

/* Pieces as a strip. Those that share a column of pixels are stacked there, by their shares. */
function stripDraw(pen, items, { from, to, x, top, height, colours }) {
	let column = null, shares = new Map();

	function stack(left, width, parts, whole) {
		let y = top;

		for (const [state, part] of parts) {
			const share = height * Math.min(1, part / whole);

			pen.fillStyle = colourOf(state, colours);
			pen.fillRect(left, y, width, share);
			y += share;
		}
	}

	function add(at, width, item) {
		const whole = item.parts.reduce((sum, part) => sum + part.ns, 0) || 1;

		if (at !== column) {
			stack(column, 1, [...shares].sort(([a], [b]) => a.localeCompare(b)), 1);
			column = at;
			shares = new Map();
		}
		for (const { state, ns } of item.parts)
			shares.set(state, (shares.get(state) || 0) + width * ns / whole);
	}

	for (const item of items) {
		if (item.to <= from || item.from >= to)
			continue;
		const left = x(Math.max(item.from, from)), right = x(Math.min(item.to, to));
		const first = Math.floor(left), last = Math.floor(right);

		if (first === last) {
			add(first, right - left, item);
			continue;
		}
		add(first, first + 1 - left, item);
		stack(first + 1, last - first - 1, item.parts.map(({ state, ns }) => [state, ns]),
		      item.parts.reduce((sum, part) => sum + part.ns, 0) || 1);
		add(last, right - last, item);
	}
	stack(column, 1, [...shares].sort(([a], [b]) => a.localeCompare(b)), 1);
}

function beginText(from) {
	return from > 0 ? `The recording begins ${timeText(from)} after the window: what had been before ` +
		"is overwritten. CPUs:" : `The recording begins ${timeText(-from)} before the window. CPUs:`;
}

/* In words: from when on it is, and what was merged or is left out. */
function recordedHint({ recorded }) {
	const { cpus, threads, left_out: left } = recorded;
	const merged = [...threads, ...cpus].map((lane) => numberOf(lane.merged_ns)).filter(Boolean);
	const swatch = (state) => el("span", { class: `swatch state-${state}` });
	const out = [numberOf(left.threads) && `${grouped(numberOf(left.threads))} threads`,
		     numberOf(left.cpus) && `${grouped(numberOf(left.cpus))} CPUs`].filter(Boolean);
	const [least, most] = [Math.min(...merged), Math.max(...merged)].map(timeText);

	return el("p", { class: "hint recorded" },
		  beginText(numberOf(recorded.from_ns)),
		  swatch("own"), "the target,", swatch("other"), "others,", swatch("idle"), "nobody. ",
		  "Arrows lead to a thread from the one that woke it: on the critical path, and all of them " +
		  `where no more than ${ARROWS_AT_ONCE} are in view. `,
		  merged.length ? `To open quickly, what is shorter than ${least === most ? least : `${least} to ${
			  most}`} is merged in ${grouped(merged.length)} of ${
			  grouped(threads.length + cpus.length)} lines: such a piece is divided as its time ` +
			  "was, and has no arrows. " : "Each state is there by itself. ",
		  out.length ? `Left out: ${out.join(" and ")}, those with the least waiting. ` : null,
		  merged.length || out.length ? "-o json has all of it, and -o perfetto draws it." : null);
}
