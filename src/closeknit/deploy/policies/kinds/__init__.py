"""The admission policies of pods and of the kinds that wait by their pods, one file per kind."""
