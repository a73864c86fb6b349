"""The modules that programs import exceptions and classes from."""
