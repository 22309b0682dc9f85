"""The papers, one folder each: statements, bounds, experiments, checks, figures, tables."""
