// The graph of a model through the passes. Records of nodes and lists of steps: report_graph.h.

// Every element with text is made here: no text of the model is ever read as HTML.
function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "text", "path", "circle", "line", "title"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}
const shortened = (text, most) => text.length > most ? "…" + text.slice(text.length - most + 1) : text;

// The steps as lists of records, unpacked once.
function unpackSteps(graph) {
  let before = [];
  return graph.steps.map(step => {
    const nodes = [];
    for (const part of step.nodes) {
      if (Array.isArray(part)) for (let i = 0; i < part[1]; ++i) nodes.push(before[part[0] + i]);
      else nodes.push(part);
    }
    before = nodes;
    const groups = [];
    for (let i = 0; i < step.groups.length; i += 2) for (let n = 0; n < step.groups[i + 1]; ++n) groups.push(step.groups[i]);
    return {...step, records: nodes.map(index => graph.nodes[index]), groups};
  });
}

// A type that became known changes nothing that is computed: `infer` would mark every box.
function onlyTypes(change) {
  return change.kind === "changed" && change.what?.length === 1 && change.what[0] === "types";
}

class GraphPicture {
  static MOST_AT_FIRST = 70;
  static MEMORY = "memory operations";

  constructor(graph, categories, svg, onSelect) {
    this.groups = graph.groups;
    this.steps = unpackSteps(graph);
    this.categories = categories;
    this.svg = svg;
    this.onSelect = onSelect;
    this.step = Math.max(0, this.steps.findIndex(step => step.name === "infer"));
    this.side = "after";
    this.opened = new Map();  // by the path of a group: what a person chose
    this.shows = {constants: false, memory: false};
    this.found = new Set();
    this.selected = null;
    this.view = {x: 0, y: 0, width: 100, height: 100};
    this.listen();
  }

  // The step whose graph is seen: before a pass, that of the one in front of it.
  get seen() { return this.steps[this.side === "before" && this.step > 0 ? this.step - 1 : this.step]; }
  isShown(record) {
    return !(record.kind === "constant" && !this.shows.constants) && !(record.manages_memory && !this.shows.memory);
  }

  marks() {
    const marks = new Map();
    for (const change of this.steps[this.step].changes) {
      if (change.node === undefined || onlyTypes(change)) continue;
      if (change.kind === (this.side === "before" ? "added" : "removed")) continue;
      marks.set(change.node, change.kind);
    }
    return marks;
  }

  build() {
    const step = this.seen;
    const root = {index: -1, path: "", children: [], nodesCount: 0};
    const byIndex = new Map([[-1, root]]);
    const groupAt = index => {
      if (byIndex.has(index)) return byIndex.get(index);
      const group = this.groups[index], parent = groupAt(group.parent);
      const made = {index, path: group.path, group, parent, children: [], nodesCount: 0};
      byIndex.set(index, made);
      parent.children.push(made);
      return made;
    };
    const items = new Map();
    step.records.forEach((record, i) => {
      if (!this.isShown(record)) return;
      const parent = groupAt(step.groups[i]), item = {record, parent};
      parent.children.push(item);
      items.set(record.id, item);
      for (let at = parent; at; at = at.parent) ++at.nodesCount;
    });
    this.root = root;
    this.items = items;
    this.unfold(root);
    this.connect(step);
  }

  // As many levels as can be read at once; what a person opened or folded stays so.
  unfold(root) {
    let count = root.children.length, level = root.children.filter(child => child.group);
    root.open = true;
    while (level.length) {
      const below = [];
      for (const group of level) {
        const chosen = this.opened.get(group.path);
        group.open = chosen ?? count + group.children.length <= GraphPicture.MOST_AT_FIRST;
        if (!group.open) continue;
        count += group.children.length;
        below.push(...group.children.filter(child => child.group));
      }
      level = below;
    }
  }

  // The open groups around an item from the outside, and at last what is seen of it.
  chain(item) {
    const path = [item];
    for (let at = item.parent; at; at = at.parent) path.unshift(at);
    const folded = path.findIndex(one => one.children && !one.open);
    return folded < 0 ? path : path.slice(0, folded + 1);
  }

  // Each edge belongs to the group that holds both ends; it goes through ports of the open groups around one end alone.
  connect(step) {
    const inside = new Map();
    const edgesOf = group => {
      if (!inside.has(group)) inside.set(group, {edges: new Map(), tops: new Map(), bottoms: new Map()});
      return inside.get(group);
    };
    for (const record of step.records) {
      const to = this.items.get(record.id);
      if (!to) continue;
      for (const [, source] of record.inputs ?? []) {
        const from = this.items.get(source);
        if (!from || from === to) continue;
        const a = this.chain(from), b = this.chain(to);
        let k = 0;
        while (k < a.length && k < b.length && a[k] === b[k]) ++k;
        if (k === a.length || k === b.length) continue;
        const shared = edgesOf(a[k - 1]);
        const key = item => item.record ? `n${item.record.id}` : `g${item.index}`;
        shared.edges.set(`${source} ${key(a[k])} ${key(b[k])}`, {from: a[k], to: b[k], source});
        for (let i = k + 1; i < a.length; ++i) {
          const {edges, bottoms} = edgesOf(a[i - 1]);
          if (!bottoms.has(source)) bottoms.set(source, {port: source, isBottom: true});
          edges.set(`${source} ${key(a[i])} out`, {from: a[i], to: bottoms.get(source), source});
        }
        for (let i = k + 1; i < b.length; ++i) {
          const {edges, tops} = edgesOf(b[i - 1]);
          if (!tops.has(source)) tops.set(source, {port: source});
          edges.set(`${source} in ${key(b[i])}`, {from: tops.get(source), to: b[i], source});
        }
      }
    }
    this.inside = inside;
  }

  sizeOf(item) {
    if (item.port !== undefined) return {width: 6, height: 4};
    if (item.record) {
      const label = this.label(item.record), second = this.second(item.record);
      return {width: Math.max(56, Math.min(230, Math.max(7.2 * label.length, 6 * second.length) + 18)), height: second ? 36 : 24};
    }
    if (!item.open) return {width: Math.max(90, Math.min(240, 7.2 * item.group.label.length + 40)), height: 36};
    const layout = this.layoutOf(item);
    return {width: layout.width + 20, height: layout.height + 34};
  }
  label(record) { return shortened(record.label ?? record.op, 30); }
  second(record) {
    const what = record.outputs?.length ? null : record.attributes?.find(([name]) => name === "what")?.[1];  // of a check
    if (what) return shortened(what.replaceAll('"', ""), 36);
    const type = record.outputs?.[0]?.[1] ?? "";
    const shape = /^Tensor\[\((.*)\), (\w+)\]$/.exec(type);
    return record.kind === "output" ? "" : shortened(shape ? `${shape[2]} [${shape[1]}]` : type, 36);
  }
  layoutOf(group) {
    if (group.layout) return group.layout;
    const {edges, tops, bottoms} = this.inside.get(group) ?? {edges: new Map(), tops: new Map(), bottoms: new Map()};
    const items = [...group.children.filter(child => child.record || child.nodesCount), ...tops.values(), ...bottoms.values()];
    const at = new Map(items.map((item, i) => [item, i])), all = [...edges.values()];
    const sizes = items.map(item => this.sizeOf(item));
    const layout = layeredLayout(sizes, all.map(edge => ({from: at.get(edge.from), to: at.get(edge.to)})),
                                 [...tops.values()].map(port => at.get(port)), [...bottoms.values()].map(port => at.get(port)));
    group.layout = {...layout, items, sizes, edges: all, at, tops, bottoms};
    return group.layout;
  }

  draw() {
    this.build();
    const layout = this.layoutOf(this.root);
    const lines = element("g"), boxes = element("g");
    this.marked = this.marks();
    this.boxOf = new Map();
    this.paint(this.root, 0, 0, lines, boxes);
    this.svg.replaceChildren(boxes, lines);
    this.whole = {x: -20, y: -20, width: layout.width + 40, height: layout.height + 40};
  }

  paint(group, x, y, lines, boxes) {
    const layout = group.layout;
    layout.items.forEach((item, i) => {
      const box = {x: x + layout.boxes[i].x, y: y + layout.boxes[i].y, ...layout.sizes[i]};
      item.box = box;
      if (item.record) boxes.append(this.nodeShape(item));
      else if (item.group && !item.open) boxes.append(this.foldedShape(item));
      else if (item.group) {
        boxes.append(this.openShape(item));
        this.paint(item, box.x + 10, box.y + 24, lines, boxes);
      }
    });
    layout.edges.forEach((edge, e) => {
      const points = layout.routes[e].map(point => ({x: x + point.x, y: y + point.y}));
      this.toPort(edge.from, edge.source, "bottoms", points[0]);
      this.toPort(edge.to, edge.source, "tops", points.at(-1));
      // From the edge of an open group's frame, where the line outside of it ends.
      const [first, last] = [points[0], points.at(-1)], at = point => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
      let path = edge.from.port !== undefined && group.box ? `M${first.x.toFixed(1)} ${group.box.y.toFixed(1)}L${at(first)}` : `M${at(first)}`;
      for (let i = 1; i < points.length; ++i) {
        const a = points[i - 1], b = points[i], middle = ((a.y + b.y) / 2).toFixed(1);
        path += `C${a.x.toFixed(1)} ${middle} ${b.x.toFixed(1)} ${middle} ${b.x.toFixed(1)} ${b.y.toFixed(1)}`;
      }
      if (edge.to.port !== undefined && group.box) path += `L${last.x.toFixed(1)} ${(group.box.y + group.box.height).toFixed(1)}`;
      const near = this.selected !== null && (edge.source === this.selected || edge.to.record?.id === this.selected);
      const isLong = points.length === 2 && points[1].y - points[0].y > 600;
      lines.append(element("path", {class: "edge" + (near ? " near" : "") + (isLong ? " long" : ""), d: path}));
    });
  }
  // An edge of an open group ends where the group's port stands.
  toPort(item, source, side, point) {
    if (!item.open || !item.group) return;
    const inner = item.layout, port = inner[side].get(source);
    if (!port) return;
    const i = inner.at.get(port);
    point.x = item.box.x + 10 + inner.boxes[i].x + inner.sizes[i].width / 2;
  }

  shape(item, kind, rect, ...children) {
    const {x, y, width, height} = item.box;
    return element("g", {class: kind, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, tabindex: 0},
                   element("rect", {width, height, rx: 5, ...rect}), ...children);
  }
  nodeShape(item) {
    const record = item.record, mark = this.marked.get(record.id);
    const category = this.categories.classes[record.class] ?? "other", second = this.second(record);
    const kind = ["node", mark, this.found.has(record.id) && "found", this.selected === record.id && "selected"].filter(Boolean);
    const colour = `var(--category-${category})`, middle = item.box.width / 2;
    const made = this.shape(item, kind.join(" "), {fill: `color-mix(in srgb, ${colour} 16%, var(--base))`, stroke: colour},
      element("title", {}, `${record.op} ${record.name}\n${record.place ?? ""}`),
      element("text", {x: middle, y: 16, "text-anchor": "middle"}, this.label(record)),
      second ? element("text", {x: middle, y: 29, "text-anchor": "middle", class: "second"}, second) : null,
      mark ? element("text", {x: -4, y: 4, class: "badge " + mark}, {added: "+", removed: "−", changed: "~"}[mark]) : null);
    made.dataset.node = record.id;
    return made;
  }
  foldedShape(item) {
    const counts = {added: 0, removed: 0, changed: 0};
    let found = 0;
    const walk = group => group.children.forEach(child => {
      if (child.children) return walk(child);
      const mark = this.marked.get(child.record.id);
      if (mark) ++counts[mark];
      if (this.found.has(child.record.id)) ++found;
    });
    walk(item);
    const marks = [counts.added && `+${counts.added}`, counts.removed && `−${counts.removed}`, counts.changed && `~${counts.changed}`];
    const main = counts.added ? "added" : counts.removed ? "removed" : counts.changed ? "changed" : "";
    const made = this.shape(item, `fold folded ${main} ${found ? "found" : ""}`, {},
      element("title", {}, `${item.path}: click to unfold`),
      element("text", {x: item.box.width / 2, y: 16, "text-anchor": "middle"}, "▸ " + shortened(item.group.label, 32)),
      element("text", {x: item.box.width / 2, y: 29, "text-anchor": "middle", class: "second"},
              [`${item.nodesCount} operations`, ...marks.filter(Boolean)].join(" ")));
    made.dataset.group = item.path;
    return made;
  }
  openShape(item) {
    const made = this.shape(item, "fold open", {}, element("title", {}, `${item.path}: click the title to fold`),
      element("text", {x: 8, y: 15, class: "head"}, "▾ " + shortened(item.group.label, Math.max(8, Math.floor(item.box.width / 7)))));
    made.dataset.group = item.path;
    return made;
  }

  // --- moving ---
  show(view) {
    this.view = view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }
  fit() { this.show({...this.whole}); }
  // As much as can be read, from the top.
  begin() {
    const {width, height} = this.svg.getBoundingClientRect(), scale = 0.75;
    const wide = Math.min(this.whole.width, (width || 900) / scale);
    if (this.whole.width <= wide && this.whole.height <= (height || 600) / scale) return this.fit();
    this.show({x: this.whole.x + (this.whole.width - wide) / 2, y: this.whole.y, width: wide, height: (height || 600) / scale});
  }
  zoom(factor, clientX, clientY) {
    const at = this.pointAt(clientX, clientY), {x, y, width, height} = this.view;
    const wide = Math.max(60, Math.min(width * factor, 40 * this.whole.width + 4000)), by = wide / width;
    this.show({x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by, width: wide, height: height * by});
  }
  pointAt(clientX, clientY) {
    const matrix = this.svg.getScreenCTM();
    return matrix ? new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse()) : {x: this.view.x, y: this.view.y};
  }
  centre(id) {
    const item = this.items.get(id), seen = item && this.chain(item).at(-1);
    if (!seen?.box) return;
    const {x, y, width, height} = seen.box, size = this.svg.getBoundingClientRect();
    const wide = Math.min(this.view.width, Math.max(700, size.width)), high = wide * (size.height || 600) / (size.width || 900);
    this.show({x: x + width / 2 - wide / 2, y: y + height / 2 - high / 2, width: wide, height: high});
  }
  listen() {
    let from = null, moved = false;
    this.svg.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.0015), event.clientX, event.clientY);
    }, {passive: false});
    this.svg.addEventListener("pointerdown", event => {
      from = {x: event.clientX, y: event.clientY, view: {...this.view}};
      moved = false;
    });
    this.svg.addEventListener("pointermove", event => {
      if (!from || !event.buttons) return;
      if (!moved && Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4) return;
      moved = true;
      this.svg.classList.add("moving");
      const scale = this.svg.getScreenCTM()?.a || 1;
      this.show({...from.view, x: from.view.x - (event.clientX - from.x) / scale, y: from.view.y - (event.clientY - from.y) / scale});
    });
    const end = () => { from = null; this.svg.classList.remove("moving"); };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointerleave", end);
    this.svg.addEventListener("click", event => { if (!moved) this.press(event.target.closest("[data-node],[data-group]")); });
    this.svg.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.press(event.target.closest("[data-node],[data-group]"));
      }
    });
  }
  press(shape) {
    if (!shape) return;
    if (shape.dataset.group !== undefined) this.toggle(shape.dataset.group);
    else this.select(Number(shape.dataset.node));
  }

  // --- what a person does ---
  goTo(step, side = this.side) {
    this.step = Math.max(0, Math.min(this.steps.length - 1, step));
    this.side = side;
    this.draw();
  }
  toggle(path) {
    const shape = [...this.svg.querySelectorAll("[data-group]")].find(one => one.dataset.group === path);
    this.opened.set(path, shape?.classList.contains("folded") ?? true);
    this.draw();
  }
  foldAll(open) {
    for (const index of new Set(this.seen.groups))
      for (let at = index; at >= 0; at = this.groups[at].parent) this.opened.set(this.groups[at].path, open);
    this.draw();
    this.begin();
  }
  reveal(id) {
    const item = this.items.get(id);
    if (!item) return false;
    for (let at = item.parent; at?.group; at = at.parent) this.opened.set(at.path, true);
    return true;
  }
  select(id) {
    this.selected = id;
    this.draw();
    this.onSelect(this.seen.records.find(record => record.id === id) ?? null);
  }
  // Unfolds what it stands in, and moves there.
  goToNode(id) {
    const record = this.seen.records.find(one => one.id === id);
    if (!record) return;
    if (record.kind === "constant") this.shows.constants = true;
    if (record.manages_memory) this.shows.memory = true;
    this.build();
    this.reveal(id);
    this.select(id);
    this.centre(id);
  }
  // The operations that contain all words.
  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = record => {
      const all = [record.op, record.name, record.label, record.place, record.source_node, record.source_op, record.outputs]
        .flat(2).join(" ").toLowerCase();
      return words.every(word => all.includes(word));
    };
    this.found = new Set(words.length ? this.seen.records.filter(record => holds(record)).map(record => record.id) : []);
    this.draw();
    return [...this.found];
  }
}

