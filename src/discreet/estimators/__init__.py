"""The face of scikit-learn: parameters stored in the constructor, fit through the workflow."""
