"""What a copy between two stores did, how far it has come, and what was found when it was verified."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """How far a copy has come.

    Attributes:
        read: Documents the source gave so far.
        total: Documents the source held at the start.
        written: Those of `read` that the target did not have, or had otherwise.
    """

    read: int
    total: int
    written: int


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What `copy_store` did, and what it verified afterwards.

    Attributes:
        read: Documents the source gave.
        written: Those of them that the target did not have, or had with other content or another vector.
        unchanged: Those that the target had already.
        extra: Documents left in the target that the source does not have.
        extra_ids: The first few of them.
        pruned: Documents that the source does not have, and that were therefore taken out of the target.
        source_count: How many Documents the source held at the end.
        target_count: How many Documents the target held at the end.
        compared: How many Documents were read again from both stores at the end, and compared.
        problems: What was found wrong when the copy was verified; empty where nothing was.
        duration_s: Seconds from start to end.

    >>> print(CopyReport(3, 2, 1, 0, (), 0, 3, 3, 3, (), 0.5))
    3 Documents: 2 written, 1 unchanged; verified by counts and by comparing 3 of them again, in 0.5 s
    """

    read: int
    written: int
    unchanged: int
    extra: int
    extra_ids: tuple[str, ...]
    pruned: int
    source_count: int
    target_count: int
    compared: int
    problems: tuple[str, ...]
    duration_s: float

    @property
    def verified(self) -> bool:
        """Whether the target holds what the source does, as far as counts and the comparison tell."""
        return not self.problems

    def __str__(self) -> str:
        counts = f"{self.written} written, {self.unchanged} unchanged"
        if self.extra:
            counts += f", {self.extra} more in the target only"
        if self.pruned:
            counts += f", {self.pruned} pruned"
        verdict = (
            f"verified by counts and by comparing {self.compared} of them again"
            if self.verified
            else f"NOT verified: {'; '.join(self.problems)}"
        )
        return f"{self.read} Document{'' if self.read == 1 else 's'}: {counts}; {verdict}, in {self.duration_s:.1f} s"
