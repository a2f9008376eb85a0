"use strict";
/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Of a flame graph of sp-report: lays the frames out for the window, zooms, searches. Frames stand in the
 * file in order, a caller before what it calls, from left to right.
 */
(function () {
	const script = document.currentScript;
	const svg = (script && script.closest("svg")) || document.documentElement;
	const XHTML = "http://www.w3.org/1999/xhtml";
	const alone = svg === document.documentElement; /* else part of a page, whose width is not ours */
	const all = Number(svg.dataset.all), levels = Number(svg.dataset.levels);
	const row = Number(svg.dataset.row), above = Number(svg.dataset.top);
	const inverted = svg.dataset.inverted === "1";
	const details = svg.querySelector("#details");
	const head = svg.querySelector("#head"), foot = svg.querySelector("#foot");
	const height = Number(svg.getAttribute("height"));
	let width = Number(svg.getAttribute("width")), letter = 7.22;
	let zoomed, here, tools, field, status, reset;

	/* ---- frames ---- */

	const open = [];
	const frames = Array.from(svg.querySelectorAll("g.f"), function (g) {
		const title = g.querySelector("title").textContent.split("\n");
		const frame = {
			g, rect: g.querySelector("rect"), text: g.querySelector("text"),
			start: Number(g.dataset.s), n: Number(g.dataset.n), level: Number(g.dataset.l),
			/* "name (kind)"; the root has no kind. */
			name: title[0].replace(/ \([a-z ]*\)$/, ""), title, children: [], matches: false,
		};

		frame.label = g.dataset.t || frame.name; /* what is written on it */

		open.length = frame.level;
		frame.parent = open[frame.level - 1] || null;
		if (frame.parent)
			frame.parent.children.push(frame);
		open[frame.level] = frame;
		g.frame = frame;
		return frame;
	});
	const root = frames[0];

	function shorten(name, room) {
		const letters = Math.floor((room - 6) / letter);

		if (letters < 3)
			return "";
		return name.length <= letters ? name : name.slice(0, letters - 1) + "\u2026";
	}

	function place(frame) {
		const inside = frame.level >= zoomed.level && frame.start >= zoomed.start &&
			frame.start + frame.n <= zoomed.start + zoomed.n;
		const around = frame.level < zoomed.level && frame.start <= zoomed.start &&
			frame.start + frame.n >= zoomed.start + zoomed.n;
		const x = inside ? (frame.start - zoomed.start) / zoomed.n * width : 0;
		const w = inside ? frame.n / zoomed.n * width : width;
		const y = above + row * (inverted ? frame.level : levels - 1 - frame.level);

		frame.shown = around || (inside && w >= 0.2);
		frame.g.classList.toggle("gone", !frame.shown);
		frame.g.classList.toggle("outer", around);
		if (!frame.shown)
			return;
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", Math.max(w - (w > 3 ? 0.6 : 0), 0.2).toFixed(2));
		frame.rect.setAttribute("y", y);
		frame.text.setAttribute("x", (x + 3).toFixed(2));
		frame.text.setAttribute("y", y + row - 5);
		frame.text.textContent = shorten(frame.label, w);
	}

	function layOut() {
		if (alone)
			width = Math.max(400, document.documentElement.clientWidth || window.innerWidth || width);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		if (tools)
			tools.setAttribute("width", Math.max(10, width - 20));
		frames.forEach(place);
		stick();
	}

	/* Heading and details stay in sight. */
	function stick() {
		const from = Math.max(0, window.scrollY || 0);

		if (!alone)
			return;
		head.setAttribute("transform", "translate(0 " + from + ")");
		foot.setAttribute("transform", "translate(0 " + Math.min(0, from + window.innerHeight - height) + ")");
	}

	/* ---- what is said ---- */

	function percent(part, whole) {
		return (100 * part / whole).toFixed(1) + " %";
	}

	function describe(frame) {
		let text;

		if (!frame) {
			details.textContent = "";
			return;
		}
		/* A whole name of C++ would leave no room for the rest; it is in the tooltip. */
		text = [frame.title[0].replace(frame.name, () => frame.label)].concat(frame.title.slice(1, 3)).join(" \u2014 ");
		if (zoomed !== root && zoomed !== frame)
			text += " \u2014 " + percent(frame.n, zoomed.n) + " of " + zoomed.label;
		details.textContent = shorten(text, width - 20);
	}

	/* The frame that the keyboard is at. */
	function go(frame, focus) {
		if (!frame || !frame.shown)
			return;
		if (here) {
			here.g.classList.remove("here");
			here.g.setAttribute("tabindex", "-1");
		}
		here = frame;
		here.g.setAttribute("tabindex", "0");
		if (focus) {
			here.g.classList.add("here");
			here.g.focus({preventScroll: false});
			describe(here);
		}
	}

	/* ---- zoom ---- */

	function allowReset() {
		reset.disabled = zoomed === root && !field.value;
	}

	function zoom(frame) {
		zoomed = frame;
		layOut();
		allowReset();
		if (!here || !here.shown)
			go(frame, false);
		count();
		describe(frame === root ? null : frame);
	}

	/* ---- search ---- */

	/* Samples of the frames that match within another, none counted twice. */
	function covered(within) {
		let end = within.start, sum = 0;

		for (const frame of frames) {
			if (!frame.matches || frame.level < within.level || frame.start < end ||
			    frame.start + frame.n > within.start + within.n)
				continue;
			sum += frame.n;
			end = frame.start + frame.n;
		}
		return sum;
	}

	function count() {
		if (!field.value) {
			status.textContent = "";
			return;
		}
		status.textContent = percent(covered(root), all) + " matched" +
			(zoomed === root ? "" : ", " + percent(covered(zoomed), zoomed.n) + " of the zoomed");
	}

	/* A regular expression; what is none is looked for as it stands. */
	function matcher(words) {
		try {
			const expression = new RegExp(words, "i");

			field.classList.remove("wrong");
			return name => expression.test(name);
		} catch (error) {
			const plain = words.toLowerCase();

			field.classList.add("wrong");
			return name => name.toLowerCase().includes(plain);
		}
	}

	function search(words) {
		const matches = matcher(words);

		for (const frame of frames) {
			frame.matches = words !== "" && frame !== root &&
				(matches(frame.name) || matches(frame.label));
			frame.g.classList.toggle("match", frame.matches);
		}
		svg.classList.toggle("searching", words !== "");
		allowReset();
		count();
	}

	/* ---- tools: a field and a button, as in a page ---- */

	function make(kind, attributes) {
		const element = document.createElementNS(XHTML, kind);

		for (const name in attributes)
			element.setAttribute(name, attributes[name]);
		return element;
	}

	function makeTools() {
		const bar = make("div", {id: "tools"});

		tools = document.createElementNS(svg.namespaceURI, "foreignObject");
		tools.setAttribute("x", 10);
		tools.setAttribute("y", 8);
		tools.setAttribute("height", 30);
		status = make("span", {id: "matched", role: "status"});
		field = make("input", {
			type: "search", placeholder: "search (Ctrl-F or /)", "aria-label": "search, regular expression",
			spellcheck: "false",
		});
		reset = make("button", {type: "button", title: "Escape does this, too"});
		reset.textContent = "reset";
		bar.append(status, field, reset);
		tools.append(bar);
		head.append(tools);
		field.addEventListener("input", () => search(field.value));
		reset.addEventListener("click", clear);
	}

	function clear() {
		field.value = "";
		search("");
		zoom(root);
		go(root, false);
	}

	/* ---- pointer and keys ---- */

	function frameOf(event) {
		const g = event.target.closest && event.target.closest("g.f");

		return g ? g.frame : null;
	}

	/* The nearest shown one before or after a frame of its level. */
	function sideways(frame, step) {
		const peers = frames.filter(other => other.level === frame.level && other.shown);

		return peers[peers.indexOf(frame) + step];
	}

	function move(key) {
		const at = here && here.shown ? here : zoomed;
		const up = inverted ? "ArrowDown" : "ArrowUp";

		if (key === "ArrowLeft" || key === "ArrowRight")
			go(sideways(at, key === "ArrowLeft" ? -1 : 1), true);
		else
			go(key === up ? at.children.find(child => child.shown) : at.parent, true);
	}

	function press(event) {
		const typing = event.target === field;

		if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f" ||
		    (event.key === "/" && !typing)) {
			field.focus();
			field.select();
		} else if (event.key === "Escape") {
			clear();
			field.blur();
		} else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
			return;
		} else if (event.key.startsWith("Arrow")) {
			move(event.key);
		} else if ((event.key === "Enter" || event.key === " ") && here && event.target !== reset) {
			zoom(here);
			go(here, true);
		} else {
			return;
		}
		event.preventDefault();
	}

	function click(event) {
		const frame = frameOf(event);

		if (frame) {
			zoom(frame);
			go(frame, false);
		}
	}

	function measureLetter() {
		root.text.textContent = "m".repeat(50);
		try {
			letter = root.text.getComputedTextLength() / 50 || letter;
		} catch (error) {
			/* Not shown: the guess will do. */
		}
	}

	measureLetter();
	makeTools();
	zoom(root);
	svg.addEventListener("click", click);
	svg.addEventListener("mouseover", event => describe(frameOf(event) || (zoomed === root ? null : zoomed)));
	document.addEventListener("keydown", press);
	window.addEventListener("resize", layOut);
	window.addEventListener("scroll", stick);
	stick();
	/* What calls all others is at the bottom. Not at once: who takes a picture of the whole page takes it from the
	 * top, when it was loaded. */
	if (alone && !inverted)
		window.addEventListener("load", () => window.setTimeout(() => window.scrollTo(0, height), 100));
})();
