"""Dyn's models behind servers of others: dyn.serving.mlserver (docs/serving-http.md)."""
