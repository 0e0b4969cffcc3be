"""Its place lets every test import the helpers that lie beside it."""
