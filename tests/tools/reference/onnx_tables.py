"""The tables of the ONNX reader: which operators it reads, since which version, and into what."""
import collections
import re

Row = collections.namedtuple("Row", "domain name target")

MAP = "frontends/onnx/map/map_table.cpp"
SCHEMAS = "frontends/onnx/import/operator_schemas.def"
CONTROL = [("frontends/onnx/import/control_importer.cpp", "isControlOperator"), ("frontends/onnx/import/search_graph.cpp", "isSearchOperator")]


def text_of(value, constants):
    return value[1:-1] if value.startswith('"') else constants[value]


def mapped(root):
    """[Row]: target is the operator of the same meaning, or "" where several operators replace the node."""
    text = (root / MAP).read_text()
    constants = dict(re.findall(r'constexpr std::string_view (\w+) = "([^"]*)";', text))
    body = re.search(r"kMapRows\[\] = \{\n(.*?)\n\};", text, re.S)[1]
    rows = []
    # A row is {...}, or {...} with its part in computing sizes: ofSizes({...}).
    for line in re.sub(r",\n +(?![ {]|\w+\(\{)", ", ", body).splitlines():
        fields = [field.strip() for field in re.match(r" *(?:\w+\()?\{(.*)\}\)?,$", line)[1].split(",")]
        domain = text_of(fields[4], constants) if len(fields) > 4 else ""
        rows.append(Row(domain, text_of(fields[0], constants), text_of(fields[1], constants)))
    return rows


def control(root):
    """The operators with bodies, which the importer expands: [Row] without a target."""
    body = "".join(re.search(r"bool %s\(.*?\n\}" % name, (root / file).read_text(), re.S)[0] for file, name in CONTROL)
    rows, domain = [], ""
    for found in re.finditer(r'domain == "([^"]*)"|domain\.empty\(\)|name == "(\w+)"', body):
        if found[2]:
            rows.append(Row(domain, found[2], ""))
        else:
            domain = found[1] or ""
    return rows


def versions(root):
    """{(domain, name): [the versions of operator sets that defined it]}"""
    found = collections.defaultdict(list)
    for domain, name, since in re.findall(r'^ONNX_OPERATOR\("([^"]*)", "(\w+)", (\d+),', (root / SCHEMAS).read_text(), re.M):
        found[domain, name].append(int(since))
    return found
