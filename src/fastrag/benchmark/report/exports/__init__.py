"""Results in the forms of other programs: Markdown, CSV, Parquet, JUnit XML and TREC's run files. One file a form."""
