"use strict";
/* SPDX-License-Identifier: BSD-2-Clause
 *
 * browser.js - as much of a browser as the script of a flame graph needs, and what it must do in it.
 *
 *   node browser.js SVG-AS-JSON SCRIPT
 *
 * The picture: 100 samples; 80 in region solve, of these 60 main > solve > leaf and 20 main > leaf > leaf; 20 in
 * main > stop outside.
 */
const fs = require("fs");
const assert = require("assert");

class Classes {
	constructor(element) {
		this.element = element;
	}
	get all() {
		return (this.element.attributes.class || "").split(" ").filter(Boolean);
	}
	contains(name) {
		return this.all.includes(name);
	}
	toggle(name, on) {
		this.element.attributes.class = this.all.filter(other => other !== name).concat(on ? [name] : []).join(" ");
	}
	add(name) {
		this.toggle(name, true);
	}
	remove(name) {
		this.toggle(name, false);
	}
}

class Element {
	constructor(tag, attributes) {
		Object.assign(this, {tag, attributes: attributes || {}, children: [], textContent: "", listeners: {}, value: ""});
		this.classList = new Classes(this);
		this.namespaceURI = "svg";
		this.dataset = {};
		for (const name in this.attributes)
			if (name.startsWith("data-"))
				this.dataset[name.slice(5)] = this.attributes[name];
	}
	setAttribute(name, value) {
		this.attributes[name] = String(value);
	}
	getAttribute(name) {
		return this.attributes[name];
	}
	matches(selector) {
		const [, tag, id, name] = selector.match(/^([a-z]*)(?:#(\w+))?(?:\.(\w+))?$/);

		return (!tag || tag === this.tag) && (!id || id === this.attributes.id) &&
			(!name || this.classList.contains(name));
	}
	* descendants() {
		for (const child of this.children) {
			yield child;
			yield* child.descendants();
		}
	}
	querySelectorAll(selector) {
		return [...this.descendants()].filter(element => element.matches(selector));
	}
	querySelector(selector) {
		return this.querySelectorAll(selector)[0] || null;
	}
	closest(selector) {
		return this.matches(selector) ? this : this.parent ? this.parent.closest(selector) : null;
	}
	append(...children) {
		for (const child of children) {
			child.parent = this;
			this.children.push(child);
		}
	}
	insertBefore(child, before) {
		child.parent = this;
		this.children.splice(this.children.indexOf(before), 0, child);
	}
	addEventListener(kind, listener) {
		(this.listeners[kind] = this.listeners[kind] || []).push(listener);
	}
	dispatch(kind, event) {
		Object.assign(event, {preventDefault() { this.prevented = true; }});
		event.target = event.target || this;
		for (const listener of this.listeners[kind] || [])
			listener(event);
		return event;
	}
	getComputedTextLength() {
		return this.textContent.length * 7;
	}
	focus() {
		document.focused = this;
	}
	blur() {
		document.focused = null;
	}
	select() {}
}

function build(from) {
	const element = new Element(from.tag, from.attributes);

	element.textContent = from.text;
	element.append(...from.children.map(build));
	return element;
}

const svg = build(JSON.parse(fs.readFileSync(process.argv[2], "utf8")));
const window = new Element("window");
const document = new Element("document");

svg.clientWidth = 1000;
document.documentElement = svg;
document.currentScript = null;
document.createElementNS = (space, tag) => new Element(tag);
Object.assign(window, {innerWidth: 1000, innerHeight: 100, scrollY: 0, setTimeout: run => run(),
	scrollTo(x, y) {
		this.scrollY = y - 100;
		this.dispatch("scroll", {});
	}});
new Function("document", "window", fs.readFileSync(process.argv[3], "utf8"))(document, window);

/* ---- what it must do ---- */

const frames = svg.querySelectorAll("g.f");
const matched = () => svg.querySelector("#matched").textContent;
const details = () => svg.querySelector("#details").textContent;
const field = svg.querySelector("input"), button = svg.querySelector("button");

/* By the names from the root on. */
function find(...names) {
	let level = 0;

	for (const g of frames) {
		if (Number(g.dataset.l) < level)
			level = Number(g.dataset.l);
		if (Number(g.dataset.l) === level && g.querySelector("title").textContent.startsWith(names[level] + " (")) {
			if (++level === names.length)
				return g;
		} else if (level === 0) {
			level = 1;
		}
	}
	throw new Error("no " + names.join(" > "));
}

const [root] = frames;
/* The root's tooltip has no kind: find() wants one. */
root.querySelector("title").textContent = root.querySelector("title").textContent.replace(/^all\n/, "all (all)\n");
const x = g => Number(g.querySelector("rect").attributes.x);
const w = g => Number(g.querySelector("rect").attributes.width);
const shown = g => !g.classList.contains("gone");
const key = (name, more) => document.dispatch("keydown", Object.assign({key: name, target: svg}, more));

const region = find("all", "solve"), main = find("all", "solve", "main");
const solve = find("all", "solve", "main", "solve"), leaf = find("all", "solve", "main", "solve", "leaf");
const other = find("all", "solve", "main", "leaf"), outside = find("all", "(no region)", "main", "stop");

/* The window's width is taken; everything is shown. */
assert.strictEqual(svg.attributes.width, "1000");
assert.ok(Math.abs(w(root) - 1000) < 1);
assert.ok(Math.abs(w(region) - 800) < 1 && Math.abs(w(leaf) - 600) < 1 && Math.abs(x(outside) - 800) < 1);
assert.ok(frames.every(shown));
assert.strictEqual(solve.querySelector("text").textContent, "solve");
assert.ok(button.disabled);

/* Of a picture higher than the window the bottom is shown; heading and details move along. */
const height = Number(svg.attributes.height);
window.dispatch("load", {});
assert.strictEqual(svg.querySelector("#head").attributes.transform, `translate(0 ${height - 100})`);
assert.strictEqual(svg.querySelector("#foot").attributes.transform, "translate(0 0)");
window.scrollY = 0;
window.dispatch("scroll", {});
assert.strictEqual(svg.querySelector("#head").attributes.transform, "translate(0 0)");
assert.strictEqual(svg.querySelector("#foot").attributes.transform, `translate(0 ${100 - height})`);

/* A click zooms: what is inside fills the width, what called it stays as a bar, the rest goes. */
svg.dispatch("click", {target: solve.querySelector("rect")});
assert.ok(Math.abs(w(solve) - 1000) < 1 && Math.abs(w(leaf) - 1000) < 1 && x(solve) === 0);
assert.ok(main.classList.contains("outer") && Math.abs(w(main) - 1000) < 1);
assert.ok(!shown(other) && !shown(outside) && shown(root));
assert.ok(!button.disabled);
button.dispatch("click", {});
assert.ok(frames.every(shown) && Math.abs(w(solve) - 600) < 1);

/* Ctrl-F goes to the field; a search counts nothing twice: leaf within leaf. */
const pressed = key("f", {ctrlKey: true});
assert.ok(pressed.prevented && document.focused === field);
field.value = "^leaf$";
field.dispatch("input", {});
assert.strictEqual(matched(), "80.0 % matched");
assert.ok(leaf.classList.contains("match") && !solve.classList.contains("match"));
field.value = "STOP|solve";
field.dispatch("input", {});
assert.strictEqual(matched(), "100.0 % matched");
svg.dispatch("click", {target: main.querySelector("rect")});
field.value = "^solve$";
field.dispatch("input", {});
assert.strictEqual(matched(), "80.0 % matched, 75.0 % of the zoomed");
field.value = "(";
field.dispatch("input", {});
assert.ok(field.classList.contains("wrong"));
key("Escape");
assert.strictEqual(field.value, "");
assert.ok(!svg.classList.contains("searching") && frames.every(shown) && matched() === "");

/* Keys: up to the hottest, sideways, down, in; letters in the field are letters. */
key("ArrowUp");
assert.ok(region.classList.contains("here") && region.attributes.tabindex === "0");
key("ArrowRight");
assert.ok(!region.classList.contains("here"));
assert.match(details(), /^\(no region\)/);
key("ArrowLeft");
key("ArrowUp");
assert.match(details(), /^main \(function\) — 80 samples, 80\.0 % of all/);
key("Enter");
assert.ok(Math.abs(w(main) - 1000) < 1 && !shown(outside));
key("ArrowDown");
key("ArrowDown");
key("Enter");
assert.ok(frames.every(shown));
assert.ok(!key("/", {target: field}).prevented);
assert.ok(key("/").prevented && document.focused === field);

/* What the pointer is on is told, and the window may change. */
svg.dispatch("mouseover", {target: leaf.querySelector("rect")});
assert.match(details(), /^leaf \(function\) — 60 samples, 60\.0 % of all.*program\.c:\d+/);
svg.clientWidth = 500;
window.dispatch("resize", {});
assert.ok(Math.abs(w(leaf) - 300) < 1 && svg.attributes.width === "500");
