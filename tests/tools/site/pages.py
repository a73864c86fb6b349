"""What the site has beside docs/: pages of other folders, a page for each linked source file, and Markdown as GitHub reads it.

mkdocs calls the on_... functions (mkdocs.yml names this file). A page of the repository is known by its path there, and by
its address in the site: docs/gpu.md is gpu.md, README.md is index.md. Links are followed by the former and written by the
latter. A linked file that is no page (a header, a program) becomes one that shows it; a picture is copied."""
import pathlib
import posixpath
import re
import subprocess
import sys

from mkdocs.structure.files import File, InclusionLevel
from pygments.lexers import LEXERS

HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent)]
import dyn_lexer  # noqa: E402
import markdown_forms  # noqa: E402

PAGES = {"README.md": "index.md", "docs/index.md": "documentation.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
         "samples/README.md": "samples.md", "vm/README.md": "runtime.md", "tests/simcuda/README.md": "simcuda.md",
         "tests/conformance/README.md": "conformance.md", "tests/bench/RESULTS.md": "figures.md"}
ASSETS = ("site.css", "iframe-worker.js")
PICTURES = (".png", ".svg", ".jpg")
LANGUAGES = {".h": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".def": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".yml": "yaml", ".md": "markdown", ".dyn": "dyn"}


LEXERS["DynLexer"] = (dyn_lexer.__name__, "Dyn", ("dyn",), ("*.dyn",), ())


def address(path):
    """Of a path of the repository in the site."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/") and path.endswith(".md"):
        return path[len("docs/"):]
    return "files/" + path + ("" if path.endswith(PICTURES) else ".md")


def resolved(page, target):
    """The path that a link of a page leads to; None: out of the repository, or within the page."""
    path = target.partition("#")[0]
    return None if not path or re.match(r"[a-z]+:", target) else posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def file_page(path):
    """A page that shows a file of the repository, or lists a folder."""
    head = "---\nsearch: {exclude: true}\nhide: [toc]\n---\n# `%s`\n\n" % path
    if (ROOT / path).is_dir():
        names = [name for name in tracked() if name.startswith(path + "/")]
        return head + "\n".join("- `%s`" % name for name in names) + "\n"
    text = (ROOT / path).read_text()
    fence = "`" * max([3] + [len(run) + 1 for run in re.findall("`{3,}", text)])
    return head + "%s%s\n%s\n%s\n" % (fence, LANGUAGES.get(pathlib.Path(path).suffix, "text"), text.rstrip("\n"), fence)


def on_config(config):
    config.mdx_configs.setdefault("toc", {})["slugify"] = markdown_forms.anchor
    return config


def on_files(files, config):
    index = files.src_uris["index.md"]
    files.remove(index)
    pages = ["docs/" + file.src_uri for file in files.documentation_pages()] + list(PAGES)
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    linked = {resolved(page, target) for page in pages for _, _, target in markdown_forms.links((ROOT / page).read_text())} - {None}
    for path in sorted(linked - set(pages)):
        if not (ROOT / path).exists():
            continue  # mkdocs names the page and the dead link
        if path.endswith(PICTURES):
            files.append(File.generated(config, address(path), abs_src_path=str(ROOT / path)))
        else:
            files.append(File.generated(config, address(path), content=file_page(path), inclusion=InclusionLevel.NOT_IN_NAV))
    for name in ASSETS:
        files.append(File.generated(config, "assets/" + name, abs_src_path=str(HERE / name)))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri.startswith("files/"):
        return markdown
    path = {to: source for source, to in PAGES.items()}.get(uri, "docs/" + uri)

    def followed(target):
        to = resolved(path, target)
        if to is None:
            return target
        anchor = target.partition("#")[2]
        return posixpath.relpath(address(to), posixpath.dirname(uri)) + ("#" + anchor if anchor else "")

    return markdown_forms.as_python_markdown(markdown_forms.with_links(markdown, followed))
