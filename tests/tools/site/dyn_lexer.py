"""Colours for blocks of the text language (```dyn)."""
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["DynLexer"]


class DynLexer(RegexLexer):
    name, aliases, filenames = "Dyn", ["dyn"], ["*.dyn"]
    tokens = {"root": [
        (r"#.*?$", Comment.Single),
        (r'"(?:[^"\\]|\\.)*"', String),
        (words(("fn", "return", "type", "dim", "let", "in", "if", "then", "else", "match", "case", "loop", "while", "body", "multiple"), suffix=r"\b"), Keyword),
        (words(("Tensor", "List", "Optional"), suffix=r"\b"), Keyword.Type),
        (r"(?:[iu](?:2|4|8|16|32|64)|bf16|[fc](?:16|32|64|128)|bool|string|dims)\b", Keyword.Type),
        (r"@\w+", Name.Function),
        (r"%\w+", Name.Variable),
        (r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|\b(?:true|false|inf|nan)\b", Number),
        (r"[a-z]\w*(?=\()", Name.Builtin),
        (r"\w+", Name),
        (r"->|[-+*/@=<>!&|?]+", Operator),
        (r"[()\[\]{},:;.]", Punctuation),
        (r"\s+|.", Text)]}
