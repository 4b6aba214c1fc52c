// SPDX-License-Identifier: Apache-2.0
/* The page: which record is shown, and what is about all of them. */

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0)); // browsers until 2025
}

/* The text of an element of data: lines of base64 of what gzip has made of it. */
async function unpacked(script) {
	const packed = new Blob([bytesOf(script.textContent)]).stream();

	return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
}

async function dataOf(script) {
	return JSON.parse(await unpacked(script));
}

/* [{ script, reading, recorded, text, type }] in the order of the file. A page that was cut off ends
 * before a text: the record is left out. */
function recordsOf(root) {
	const behind = (element, kind) => (element.nextElementSibling?.matches(`script.${kind}`)
		? element.nextElementSibling : null);

	return Array.from(root.querySelectorAll("script.record"), (script) => {
		const reading = behind(script, "reading"), recorded = behind(reading || script, "recorded");

		return { script, reading, recorded, text: (recorded || reading || script).nextElementSibling,
			 type: script.classList.item(1) };
	}).filter((record) => record.text?.matches("pre.text") && record.type in SECTIONS);
}

/* [[id, title, what makes it]] of a record's data. */
const SECTIONS = {
	sample: sampleSections,
	summary: summarySections,
	comparison: comparisonSections,
	triggers: triggersSections,
};

const TITLES = { summary: "All samples", comparison: "Comparison", triggers: "Triggers" };

/* Null if there is nothing to show. */
function sectionOf([id, title, make]) {
	const content = [make()].flat(3).filter(Boolean);

	if (!title || !content.length)
		return content[0] || null;
	return el("section", { id, "aria-labelledby": `${id}-title` },
		  el("h2", { id: `${id}-title` }, title), content);
}

/* Makes one section after the other, as long as this goes on: between them the browser draws what
 * there is, and takes what people do. */
async function sectionsAdd(plan, content, goesOn) {
	for (const part of plan) {
		const section = sectionOf(part);

		if (section)
			content.append(section);
		await new Promise((done) => setTimeout(done));
		if (!goesOn())
			return;
	}
}

/* The very lines that -o json writes, unless lists are shorter. */
async function save(records, name) {
	const lines = await Promise.all(records.map((record) => unpacked(record.script)));
	const url = URL.createObjectURL(new Blob(lines, { type: "application/json" }));

	el("a", { href: url, download: `${name}.json` }).click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

function themeChanged() {
	document.dispatchEvent(new Event("theme")); // for what is drawn on canvas
}

function themeSwitch() {
	const { style } = document.documentElement, isDark = style.colorScheme
		? style.colorScheme === "dark" : DARK.matches;

	style.colorScheme = isDark ? "light" : "dark";
	themeChanged();
}

/* For paper, all that is folded is shown. */
function printWhole() {
	let opened = [];

	addEventListener("beforeprint", () => {
		opened = [...document.querySelectorAll("details:not([open])")];
		opened.forEach((details) => details.setAttribute("open", ""));
	});
	addEventListener("afterprint", () =>
		opened.forEach((details) => details.removeAttribute("open")));
}

function pickerOf(records, show) {
	let sample = 0;

	return el("label", {}, "Show ", el("select", { id: "record", onchange: (event) =>
		show(records[event.target.value]) }, records.map((record, i) =>
		el("option", { value: i }, TITLES[record.type] || `Sample ${++sample}`))));
}

function navigation(sections) {
	return el("ul", {}, sections.map((section) => el("li", {},
		el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent))));
}

function nameOf(sample) {
	return sample.capture ? `${textOf(sample.capture, "process")}-${sample.pid}` : String(sample.pid);
}

class Page {
	constructor(records, words) {
		this.content = el("div", { id: "content" });
		this.menu = el("nav", { "aria-label": "Sections" });
		this.main = el("main", {}, this.content);
		Object.assign(this, { records, words, shown: null, name: "kernel_delay" });
	}

	header() {
		const isWhole = this.records.every(({ script }) => !script.matches(".shorter"));
		const button = (id, title, onclick) => el("button", { type: "button", id, onclick }, title);

		return [el("a", { class: "skip", href: "#content" }, "Skip to the report"),
			el("header", {}, el("h1", {}, "kernel_delay"),
			   this.records.length > 1 && pickerOf(this.records, (record) => this.show(record)),
			   button("save", `Save the JSON${isWhole ? "" : " (lists shortened)"}`,
				  () => save(this.records, this.name)),
			   button("theme", "Light or dark", themeSwitch)),
			this.menu, this.main];
	}

	async draw(record) {
		const data = await dataOf(record.script);
		const reading = record.reading && await dataOf(record.reading);
		const recorded = record.recorded && await dataOf(record.recorded);
		const text = () => {
			record.text.hidden = false;
			return el("details", {}, el("summary", {}, "Show the text"), record.text);
		};

		if (record.type === "sample")
			this.name = nameOf(data);
		document.title = `${this.name}: kernel_delay`;
		await sectionsAdd([...SECTIONS[record.type](data, reading, this.words, recorded),
				   ["text", "The report as text", text]], this.content,
				  () => this.shown === record);
	}

	async show(record) {
		this.shown = record;
		this.main.setAttribute("aria-busy", "true");
		for (const { text } of this.records) {
			text.hidden = true;
			document.body.append(text);
		}
		this.content.replaceChildren();
		try {
			await this.draw(record);
		} catch (error) {
			record.text.hidden = false;
			this.content.append(el("p", { class: "warning", role: "alert" },
				`Not all of this record can be shown (${error.message}). Its text:`), record.text);
		}
		if (this.shown !== record)
			return;
		this.menu.replaceChildren(navigation([...this.content.querySelectorAll("section")]));
		this.main.setAttribute("aria-busy", "false");
	}
}

async function start() {
	const words = document.querySelector("script.words"), records = recordsOf(document);

	if (!words || !records.length)
		return;
	const page = new Page(records, await dataOf(words));

	document.body.prepend(...page.header());
	DARK.addEventListener("change", themeChanged);
	printWhole();
	await page.show(records[0]);
}

await start();
