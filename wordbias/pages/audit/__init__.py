"""Everything that can be measured of an embedding with no more than a few words of advice.

Each part is a function of the stages, before and after MISP, and of a plan; what a part cannot
measure is said, and the others go on.
"""

from wordbias.pages.audit.plan import PARTS as PARTS
from wordbias.pages.audit.plan import Plan as Plan
from wordbias.pages.audit.running import Audited as Audited
from wordbias.pages.audit.running import audit as audit
from wordbias.pages.audit.running import slow_parts as slow_parts
from wordbias.pages.audit.stages import make_stages as make_stages

__all__ = ["PARTS", "Audited", "Plan", "audit", "make_stages", "slow_parts"]
