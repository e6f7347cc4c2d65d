"""Results as pages for a browser: what these are told (`data`), and the one file that holds it all (`page`)."""
