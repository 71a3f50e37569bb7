"""The public tables that the studies are about: where each is, and its digest.

A table whose licence allows it lies in this package; the others in a folder that the user names.
"""

from pathlib import Path

OWN = Path(__file__).parent / "tables"

SHA256 = {
    "flights_nyc2013.parquet": "556ed1f4a027578c29e875e117d3f707080687500c9bb74927e63b9487ab004e",
    "fremtpl2freq.parquet": "045ac0519c16caa5d7b0d7ed8a06edad6e4003c14f8edc45f6a50a2b8653c99e",
    "gusto_ami.parquet": "a021c25b34b385d7bcc66aab9e3323bffb529288c63d4d0bd647e3bb2d42bba7",
    "hybrid_sim_private.parquet": "50a6313f967e297c6fcae8f1ff80f4d483b74d2bd2bcd724b327be13b0a0d0ae",
    "hybrid_sim_public.parquet": "5876ec1aacd2b852ef55a4ff6ac725dce0d18debf087ae20b6f3012987fc51e5",
    "microarray/alon.parquet": "0ae84bb13b3b2c97944b68429b2dfbebb69f47e12dfd432da2e64bbf067c6b91",
    "microarray/borovecki.parquet": "40a3d2c5e494458ffca38d113d718d9a6accccfc1ac021cbd2bcd3fae7515c4b",
    "microarray/christensen.parquet": "2b7d12b07f522c2d012d9e694aa6011cea8d47f49dca414bb521c67b64a6ab8f",
    "microarray/golub.parquet": "92fe16a9ab476bd1ee9dad1698674dd72e79d7bc87420b653a4caf609fd341b6",
    "microarray/gravier.parquet": "a04d598b8d1c37555a78a38df904732427c2f3fd5eda801554f81bf4f81596b0",
    "microarray/khan.parquet": "0adf596d8b73c55c4e413fcf1da1f1d32ccae50164c58c3ecd30854e3fdb7013",
    "microarray/shipp.parquet": "0c07eb3a8659d7a6cd4058c64d9334a82413b9501c3d505cbd825ef585388c45",
    "microarray/sorlie.parquet": "dc0f1561de3a575d430b1e7985fc717db8e98437c2197424ab3194cb02ad2525",
    "microarray/su.parquet": "daa822465f71d4896e2752a905f7ede46118818f07723a7a687c8e983ea1bbdb",
    "microarray/subramanian.parquet": "2587fa3090d4afc49e3815c8baa84d2b9dc524d42f094eae3dcff7b4aac6d1c2",
    "microarray/yeoh_reduced.parquet": "ae9d484e64b127dba84a183ba7825757cf4665da71cf4351b21eb7165f923858",
    "prostate.parquet": "eb7f1aeb544142f1ea8ce5211b5b8dee3071eab6e57c308dd4abd3dc6e261c9a",
    "wide/arcene.parquet": "14168d7b4b8e2ca52aa9b3657286854000554e359f0f1d2d071f483c0401d5c9",
    "wide/basehock_coo.parquet": "616bc699fe679368d9108b4a2b7e14a30b7980595a839fe8f2e76431af0839fe",
    "wide/basehock_y.parquet": "f06c06756dd46d2465c1f0d6bfd5de4dc289462e97e34be3178e8d06f7508f3f",
}
"""By file, below the folder of the data."""

OWN_SHA256 = {"flights_nyc2013.parquet": "85e60dd4d892b3fb56845934ec9fefaa1ab1c2fdec82b691dc4efb7888dd6206"}
"""Of the tables in this package: the columns and the complete rows that a study reads."""


def path_of(name: str, folder: Path | None) -> Path:
    """Return where a table is, or would be: the folder's own comes first."""
    path = (folder or Path()) / name
    return OWN / name if name in OWN_SHA256 and (folder is None or not path.is_file()) else path


def is_published(name: str, sha256: str) -> bool:
    """Tell whether a digest is that of the table as it was published, or as it lies here."""
    return sha256 in (SHA256.get(name), OWN_SHA256.get(name))
