"""Specs of CapacityBuffer with methods, promises and measured values, and what is said about them."""

from __future__ import annotations

from typing import Any

from tests.unit.api.case import NEGATIVE, Case

NOT_A_PERCENTILE = 'is not a percentile: write a number such as 99 or "99.9"; quote what has a point, such as "0.05"'
BEYOND = (
    'must be above 0 and below 100, such as 99 or "99.9": random arrivals have no largest burst, so 100 cannot be '
    "promised"
)
NOT_A_PRICE = 'is not a price: write a number such as 3 or "0.05"; quote what has a point, such as "0.05"'
NOT_A_MEAN = 'is not a mean: write a number such as 5 or "2.5"; quote what has a point, such as "0.05"'
NEEDS_LEVEL = "the method Quantile needs serviceLevel: say how many pods may wait how long (or penalties in cost)"
NEEDS_METHOD = "serviceLevel needs a method that keeps it: Quantile, Observed or Burst; Mean keeps none"
QUANTILE = {"method": "Quantile", "serviceLevel": {"percentile": 99}}
PRICES = {"activePerHour": "0.05", "standbyPerHour": "0.0025"}


def sized(**sizing: Any) -> dict[str, Any]:
    given = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s", **sizing}
    return {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}, "sizing": given}


def wrong(name: str, field: str, message: str, **sizing: Any) -> Case:
    return Case(name, sized(**sizing), ((f"spec.sizing{field}", message),))


SIZINGS = [
    Case("method Mean", sized(method="Mean")),
    Case("method Quantile", sized(**QUANTILE)),
    Case("a fraction of a percent", sized(method="Quantile", serviceLevel={"percentile": "99.9", "maxWait": "1s"})),
    Case("method Observed", sized(method="Observed", scaleUpRate="Measured")),
    Case("method Burst", sized(method="Burst", burst=50)),
    Case(
        "everything measured",
        sized(scaleUpRate="Measured", standbyResumeLatency="Measured", coldNodeLatency="Measured"),
    ),
    Case("fallbacks", sized(coldNodeLatency="Measured", fallback={"scaleUpRate": "0.5", "coldNodeLatency": "2m"})),
    Case("batches", sized(**QUANTILE, arrivals={"batchMean": "2.5"})),
    Case("batches of a fixed size", sized(**QUANTILE, arrivals={"batchMean": 10, "batchSizes": "Fixed"})),
    Case("scatter", sized(**QUANTILE, arrivals={"varianceToMean": 9})),
    Case("prices", sized(**QUANTILE, cost=PRICES)),
    Case("penalties", sized(method="Quantile", cost=PRICES | {"penaltyPerResume": 5, "penaltyPerColdStart": 20})),
    Case("what counts and a limit", sized(count=["Rollouts", "Replacements"], creationLimit=200)),
    wrong("a promise without a level", "", NEEDS_LEVEL, method="Quantile"),
    wrong("a level without a method", "", NEEDS_METHOD, serviceLevel={"percentile": 99}),
    wrong("a level with the mean", "", NEEDS_METHOD, method="Mean", serviceLevel={"percentile": 99}),
    wrong("a burst without its method", "", "burst needs the method Burst", burst=5),
    wrong("arrivals without their method", "", "arrivals needs the method Quantile", arrivals={"batchMean": 5}),
    *(
        wrong(
            f"percentile {value!r}",
            ".serviceLevel.percentile",
            BEYOND,
            method="Quantile",
            serviceLevel={"percentile": value},
        )
        for value in (0, 100, "100", "100.5", -1, "-0.5")
    ),
    *(
        wrong(
            f"percentile {value!r}",
            ".serviceLevel.percentile",
            NOT_A_PERCENTILE,
            method="Quantile",
            serviceLevel={"percentile": value},
        )
        for value in ("most", "99%", "NaN", "")
    ),
    wrong("a mean below one", ".arrivals.batchMean", "must be at least 1", **QUANTILE, arrivals={"batchMean": "0.5"}),
    wrong("no mean", ".arrivals.varianceToMean", NOT_A_MEAN, **QUANTILE, arrivals={"varianceToMean": "lots"}),
    wrong(
        "both of batches and scatter",
        ".arrivals",
        "give one of batchMean and varianceToMean: the one follows from the other",
        **QUANTILE,
        arrivals={"batchMean": 5, "varianceToMean": 9},
    ),
    wrong(
        "a fixed size that is not whole",
        ".arrivals",
        "batches of a fixed size need a whole number as batchMean",
        **QUANTILE,
        arrivals={"batchMean": "2.5", "batchSizes": "Fixed"},
    ),
    wrong("no price", ".cost.activePerHour", NOT_A_PRICE, cost=PRICES | {"activePerHour": "cheap"}),
    wrong("a negative price", ".cost.standbyPerHour", NEGATIVE, cost=PRICES | {"standbyPerHour": "-1"}),
    wrong(
        "one penalty",
        ".cost",
        "give both of penaltyPerResume and penaltyPerColdStart, or neither",
        cost=PRICES | {"penaltyPerResume": 5},
    ),
    wrong(
        "no time between spikes",
        ".cost.spikeInterval",
        "must be more than zero: there is time between two spikes",
        cost=PRICES | {"spikeInterval": "0s"},
    ),
]
