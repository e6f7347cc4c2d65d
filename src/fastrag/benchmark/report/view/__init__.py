"""The pages of a folder of results, served to this machine's browsers while runs go on."""
