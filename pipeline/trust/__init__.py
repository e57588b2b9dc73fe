"""How likely is this program right? Sampled programs checked against sampled specs."""
