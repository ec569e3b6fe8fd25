"""Wire formats of Kubernetes, Kueue and our configuration, decoded into model values. Imports only the model."""
