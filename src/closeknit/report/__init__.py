"""Reports: results as text, tables, pictures and files for other programs. Nothing is decided here."""
