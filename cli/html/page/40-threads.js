// SPDX-License-Identifier: Apache-2.0
/* Where the time went: states as stacked bars, of all threads and of each. */

/* [{ key, title, of(thread) }] in the order of the ledger; states that have no words here, too. */
function statesOf(sample, words) {
	const keys = new Set(Object.keys(words.states));

	for (const thread of sample.threads)
		for (const key of Object.keys(thread.ledger))
			if (/_ns$/.test(key) && !/^(life|sum_exec_runtime)_ns$/.test(key))
				keys.add(key.slice(0, -3));
	return [...keys].map((key) => ({
		key,
		title: words.states[key] || titleOf(key),
		of: (thread) => numberOf(thread.ledger[`${key}_ns`]) || 0,
	}));
}

/* parts: [{ key, title, ns }]. */
function stackedBar(parts) {
	const used = parts.filter((part) => part.ns);
	const whole = used.reduce((sum, part) => sum + part.ns, 0);
	const label = used.toSorted((a, b) => b.ns - a.ns).map((part) =>
		`${part.title} ${timeText(part.ns)} (${shareText(part.ns, whole)})`).join(", ") || "nothing";

	return el("div", { class: "bar", role: "img", "aria-label": label, title: label },
		  used.map((part) => styled(el("span", { class: `state state-${part.key}` }),
					    { flexGrow: part.ns / whole })));
}

function threadBar(thread, { states, hidden }) {
	return stackedBar(states.filter((state) => !hidden.has(state.key))
		.map((state) => ({ ...state, ns: state.of(thread) })));
}

/* Of each state the sum over all threads, and the thread that has most of it. */
function sumsOf({ sample, states }) {
	return states.map((state) => {
		const most = sample.threads.reduce((a, b) => (a && state.of(a) >= state.of(b) ? a : b), null);

		return { ...state, most: most ? whoText(most) : "",
			 ns: sample.threads.reduce((sum, thread) => sum + state.of(thread), 0) };
	}).filter((sum) => sum.ns);
}

/* redraw() is called when other states are to be hidden in the bars. */
function statesView(context, redraw) {
	const { hidden, life } = context, sums = sumsOf(context), bar = el("div");
	const draw = () => bar.replaceChildren(stackedBar(sums.filter((sum) => !hidden.has(sum.key))));
	const box = (sum) => el("input", { type: "checkbox", checked: true, onchange: (event) => {
		if (event.target.checked)
			hidden.delete(sum.key);
		else
			hidden.add(sum.key);
		draw();
		redraw();
	} });

	draw();
	return [bar, sortableTable({
		caption: "States of all threads; without its tick a state is left out of the bars.",
		columns: [
			{ key: "title", title: "State", value: (sum) => sum.title,
			  cell: (sum) => el("label", {}, box(sum),
				el("span", { class: `swatch state-${sum.key}` }), sum.title) },
			{ key: "ns", title: "Time", numeric: true, value: (sum) => sum.ns,
			  cell: (sum) => timeText(sum.ns) },
			{ key: "share", title: "Share", numeric: true, value: (sum) => sum.ns,
			  cell: (sum) => shareText(sum.ns, life) },
			{ key: "most", title: "Most of it in", value: (sum) => sum.most,
			  cell: (sum) => isolated(sum.most) },
		],
		rows: sums, id: "states" }).element];
}

const THREAD_ELSEWHERE = ["tid", "name", "ledger", "in_flight", "open_periods"];

/* All else that is known of it. */
function threadDetail(thread, context) {
	const life = numberOf(thread.ledger.life_ns);
	const ledger = context.states.filter((state) => state.of(thread)).map((state) =>
		({ state: state.title, ns: state.of(thread), share: state.of(thread) / life }));
	const open = [...(thread.in_flight || []), ...(thread.open_periods || [])];

	return el("div", { class: "details" }, rowsTable("states", ledger, context),
		  objectView(thread, context, { titles: context.words.awaited, skip: THREAD_ELSEWHERE }),
		  rowsTable("open at an edge", open, context));
}

const GROUPS = {
	Running: ["user", "kernel"],
	Ready: ["ready_woken", "ready_preempted", "throttled"],
	Blocked: ["blocked", "blocked_uninterruptible"],
};

function threadColumns(context) {
	const { reading, sample } = context;
	const index = new Map(sample.threads.map((thread, i) => [thread, i]));
	const [busy, kept, longest] = [0, 1, 2].map((i) =>
		(thread) => reading.threads[index.get(thread)]?.[i] || 0);
	const time = (key, value) => ({ key: key.toLowerCase(), title: key, numeric: true, value,
					cell: (thread) => timeText(value(thread)) });
	const text = (key, title, value) => ({ key, title, value, cell: (thread) => String(value(thread)) });
	const columns = [
		{ key: "tid", title: "TID", value: (thread) => thread.tid, cell: (thread) =>
			(thread.members > 1 ? `${thread.members} threads` : String(thread.tid)) },
		{ key: "name", title: "Thread", value: (thread) => textOf(thread, "name"),
		  cell: (thread) => isolated(textOf(thread, "name") || "<unknown>") },
		{ key: "bar", title: "Where its time went", down: true, changes: true, value: busy,
		  cell: (thread) => threadBar(thread, context) },
		...Object.entries(GROUPS).map(([title, keys]) => time(title, (thread) =>
			keys.reduce((ns, key) => ns + (numberOf(thread.ledger[`${key}_ns`]) || 0), 0))),
		time("Kept", kept),
		{ key: "share", title: "Of busy", numeric: true,
		  value: (thread) => kept(thread) / (busy(thread) || 1),
		  cell: (thread) => shareText(kept(thread), busy(thread)) },
		time("Longest", longest),
	];

	if (sample.threads.some((thread) => "pid" in thread))
		columns.splice(1, 0, text("pid", "PID", (thread) => thread.pid ?? ""));
	return columns;
}

/* By the beginning of a number, or a part of the name. */
function threadMatches(thread, text) {
	const wanted = text.trim().toLowerCase();

	return !wanted || textOf(thread, "name").toLowerCase().includes(wanted) ||
	       String(thread.tid).startsWith(wanted) || String(thread.pid ?? "").startsWith(wanted);
}

/* Returns the elements, and redraw(). */
function threadsView(context) {
	const table = sortableTable({
		caption: "Kept: ready, blocked (but for work) or interrupted. The headers sort.",
		columns: threadColumns(context), rows: context.sample.threads, sort: "kept",
		id: "thread-table", detail: (thread) => threadDetail(thread, context) });
	const filter = el("input", { type: "search", id: "thread-filter", autocomplete: "off",
				     oninput: (event) => table.filter((thread) =>
					     threadMatches(thread, event.target.value)) });

	return { element: [el("p", { class: "tools" },
			      el("label", { for: "thread-filter" }, "Threads with this name or number "),
			      filter), table.element],
		 redraw: table.redraw };
}
