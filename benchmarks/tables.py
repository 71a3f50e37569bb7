"""Tables that benchmarks and slow tests share."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("DISCREET_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"

FREMTPL_METADATA = """\
schema: discreet/metadata@1
dataset: fremtpl2freq
unit: policy
neighboring: replace_one
n_rows: 677991
columns:
  ClaimNb: {type: integer, lower: 0, upper: 4, source: "more than four claims in a year are cut to four"}
  Exposure: {type: real, lower: 0, upper: 1, source: "by definition: years of a contract of at most one year"}
  VehPower: {type: integer, lower: 4, upper: 15, source: "fiscal horsepower classes of the tariff"}
  VehAge: {type: integer, lower: 0, upper: 30, source: "years; older vehicles are cut to 30"}
  DrivAge: {type: integer, lower: 18, upper: 100, source: "legal driving age; older drivers are cut to 100"}
  BonusMalus: {type: integer, lower: 50, upper: 150, source: "French tariff: 50 is the floor; cut at 150"}
  Density: {type: integer, lower: 1, upper: 27000, source: "inhabitants per square kilometre, densest commune"}
  Area: {type: category, levels: [A, B, C, D, E, F], source: "code book"}
  VehGas: {type: category, levels: [Diesel, Regular], source: "code book"}
  VehBrand: {type: category, levels: [B1, B2, B3, B4, B5, B6, B10, B11, B12, B13, B14], source: "code book"}
  Region:
    type: category
    source: "the 22 regions of France before 2016"
    levels: [Alsace, Aquitaine, Auvergne, Basse-Normandie, Bourgogne, Bretagne, Centre, Champagne-Ardenne, Corse,
      Franche-Comte, Haute-Normandie, Ile-de-France, Languedoc-Roussillon, Limousin, Lorraine, Midi-Pyrenees,
      Nord-Pas-de-Calais, Pays-de-la-Loire, Picardie, Poitou-Charentes, "Provence-Alpes-Cotes-D'Azur", Rhone-Alpes]
"""
"""Written from the tariff and public geography; no bound was read from the rows."""
