"""Look after stored results: pack, merge, compare, verify, export, and remove what nothing reads any more."""
