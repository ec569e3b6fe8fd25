"""Reports: answers as pictures, tables and files for other programs. They decide nothing."""
