"""From Kubernetes objects to the core and back: the world that `place`, the simulator and the scheduler share."""

from gangpool.intake.load import load
from gangpool.intake.place import place
from gangpool.intake.world import World

__all__ = ["World", "load", "place"]
