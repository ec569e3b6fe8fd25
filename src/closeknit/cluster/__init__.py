"""Where objects come from: so far manifests in files. Knows the model and the wire formats, nothing above them."""
