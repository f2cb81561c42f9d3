"""The refinement check: every explored transition of the reference is one of the proved system."""
