"""Names of the properties and goals of brokers: those of ``spec/properties.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kraftcheck.spec import load
from kraftcheck.systems.property_names import PropertyNames

FENCED_SERVES_NOTHING = "FencedBrokerServesNothingNew"
INCARNATION_MONOTONE = "IncarnationMonotone"
ONE_LIVE_INCARNATION = "OneLiveIncarnation"
ISR_BY_LEADER_ONLY = "IsrChangedByLeaderOnly"
ISR_WELL_FORMED = "IsrWellFormed"
INACTIVE_INVISIBLE = "InactiveBrokerIsInvisible"
INACTIVE_BEFORE_FENCED = "InactiveBeforeSelfFenced"
UNFENCED_HAS_CAUGHT_UP = "UnfencedBrokerHasCaughtUp"
REJECTED_HAS_NO_EFFECT = "RejectedIsrChangeHasNoEffect"
LEGACY_ACTIVE = "LegacyBrokerAlwaysActive"
COMMITTED_SURVIVES = "CommittedPartitionDataSurvives"
SERVES_BRIEFLY = "InactiveBrokerServesBriefly"
SHUTDOWN_HANDS_OVER = "ShutdownHandsLeadersOver"
HAND_OVER_SURVIVES = "HandOverSurvivesFailover"
LEAVING_NOT_CHOSEN = "LeavingBrokerIsNotChosen"
STOPS_WHEN_LET_GO = "StopsOnlyWhenLetGo"
ACCEPTED_COMPLETED = "AcceptedRequestsAreCompleted"
NEWEST_REGISTRATION = "NewestRegistrationCounts"
SESSIONS_SAY = "SessionsSayWhatWasHeard"
CONTACT_COUNTS = "ContactCountsByItsRequest"
LIVENESS_KNOWN = "BrokerLivenessEventuallyKnown"
CUT_OFF_FENCED = "PartitionedBrokerEventuallyFenced"
LIVE_SERVES = "LiveBrokerEventuallyServes"

#: The largest bound of ``check.serves-at-most``, in ticks.
MOST_TICKS = 50

#: Properties that every scenario checks unless it says otherwise.
ALWAYS = (
    FENCED_SERVES_NOTHING,
    INCARNATION_MONOTONE,
    ONE_LIVE_INCARNATION,
    ISR_BY_LEADER_ONLY,
    ISR_WELL_FORMED,
    INACTIVE_INVISIBLE,
    UNFENCED_HAS_CAUGHT_UP,
    REJECTED_HAS_NO_EFFECT,
    LEGACY_ACTIVE,
    SHUTDOWN_HANDS_OVER,
    LEAVING_NOT_CHOSEN,
    STOPS_WHEN_LET_GO,
    ACCEPTED_COMPLETED,
    NEWEST_REGISTRATION,
    SESSIONS_SAY,
)
#: Properties of the graph of all states, which a scenario names, with their goals.
EVENTUALLY: Mapping[str, tuple[str, ...]] = {
    LIVENESS_KNOWN: ("liveness-known",),
    CUT_OFF_FENCED: ("cut-off-are-fenced",),
    LIVE_SERVES: ("connected-serve", "connected-are-unfenced"),
}
#: Properties that need clocks, a bound or data in a scenario, or that neither form promises.
ON_REQUEST = (INACTIVE_BEFORE_FENCED, SERVES_BRIEFLY, COMMITTED_SURVIVES, CONTACT_COUNTS, HAND_OVER_SURVIVES)

GOAL_COMMITTED = "GoalDataCommitted"
GOAL_CRASH = "GoalCrashAfterCommit"
GOAL_LATER_LIFE_LEADS = "GoalLaterLifeLeads"
GOAL_HEARD_AGAIN = "GoalLaterLifeHeard"
GOAL_SERVES = "GoalServesTicks"
GOAL_DECLARED = "GoalBrokerInactive"
GOAL_BACK = "GoalBrokerActiveAgain"
GOAL_FENCED = "GoalBrokerFencedItself"
GOAL_UNFENCED = "GoalBrokerUnfenced"
GOAL_BEGINS_TO_SERVE = "GoalBrokerServes"
GOAL_REJECTED_LIFE = "GoalFormerLifeRejected"
GOAL_ISR_CHANGED = "GoalIsrChanged"
GOAL_ISR_REFUSED = "GoalIsrChangeRefused"
GOAL_ISR_PARTLY_REFUSED = "GoalIsrChangePartlyRefused"
GOAL_ISR_ASKED_AGAIN = "GoalIsrAskedForAgain"
GOAL_LEADER_CHANGED = "GoalPartitionLeaderChanged"
GOAL_STOPPED = "GoalBrokerStopped"
GOAL_SHUTDOWN_WAITS = "GoalShutdownWaits"
GOAL_FAILOVER = "GoalControllerFailover"

GOALS = (
    GOAL_COMMITTED,
    GOAL_CRASH,
    GOAL_LATER_LIFE_LEADS,
    GOAL_HEARD_AGAIN,
    GOAL_DECLARED,
    GOAL_BACK,
    GOAL_FENCED,
    GOAL_UNFENCED,
    GOAL_BEGINS_TO_SERVE,
    GOAL_REJECTED_LIFE,
    GOAL_ISR_CHANGED,
    GOAL_ISR_REFUSED,
    GOAL_ISR_PARTLY_REFUSED,
    GOAL_ISR_ASKED_AGAIN,
    GOAL_LEADER_CHANGED,
    GOAL_STOPPED,
    GOAL_SHUTDOWN_WAITS,
    GOAL_FAILOVER,
)


@cache
def _more_goals() -> frozenset[str]:
    """A goal for each transition of a broker, and for each number of ticks for which one may serve."""
    serves = (f"{GOAL_SERVES}{ticks}" for ticks in range(MOST_TICKS + 1))
    return frozenset((*(row.goal for row in load().broker_transitions), *serves))


#: The names that scenarios of brokers may use.
NAMES = PropertyNames(ALWAYS, ON_REQUEST, EVENTUALLY, GOALS, _more_goals)
