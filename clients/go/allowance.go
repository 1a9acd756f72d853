package linkscore

import (
	"fmt"
	"math"
	"sync"

	pb "linkscore.example/go/linkscorev1"
)

// stops names decisions as crawlers end with them.
var stops = map[pb.Decision]string{
	pb.Decision_DECISION_STOP_YIELD:   "linkscore_yield",
	pb.Decision_DECISION_STOP_COVERED: "linkscore_covered",
	pb.Decision_DECISION_STOP_BUDGET:  "linkscore_budget",
}

// allowance is what the budget of a crawl still allows, as the answers to its pages say. Until the first page is answered
// one fetch may begin at a time: a crawl that was there may have spent all.
type allowance struct {
	mu          sync.Mutex
	left        float64
	unknown     float64 // fetches that the server has not counted, for ever if it refused them
	answered    bool
	seq         uint64 // event of the answer that was taken over
	spent       bool
	reason, why string
}

func newAllowance(budget *pb.Budget) *allowance {
	left := math.Inf(1)
	if budget.GetMaxFetches() > 0 {
		left = float64(budget.GetMaxFetches())
	}
	if budget.GetMaxCost() > 0 && budget.GetFetchCost() > 0 {
		left = min(left, math.Floor(budget.GetMaxCost()/budget.GetFetchCost()))
	}
	return &allowance{left: left}
}

// begin notes a fetch that the server is told of now or later.
func (a *allowance) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unknown++
}

// take takes over what the answer to a page says. One that another overtook cannot raise what is left.
func (a *allowance) take(result *pb.PageResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = true
	a.unknown--
	latest := result.GetEventSeq() >= a.seq
	a.seq = max(a.seq, result.GetEventSeq())
	said, left := result.GetStanding(), math.Inf(1)
	if said == nil {
		return
	}
	if said.FetchesLeft != nil {
		left = float64(said.GetFetchesLeft())
	}
	if !latest {
		left = min(left, a.left)
	}
	a.left = left
	if latest || said.GetSpent() || !a.spent {
		a.spent, a.reason, a.why = said.GetSpent(), stops[said.GetDecision()], said.GetReason()
	}
}

// full says whether no fetch may begin beside those under way; start pages may, which may be of a site that has not stopped.
func (a *allowance) full(underWay int, seeds bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent || (a.reason != "" && !seeds) {
		return true
	}
	if math.IsInf(a.left, 1) {
		return false
	}
	if underWay == 0 && a.unknown >= a.left && a.reason == "" {
		a.reason = "linkscore_budget"
		a.why = fmt.Sprintf("%g fetches that the server does not know are all that was left", a.unknown)
	}
	return float64(underWay)+a.unknown >= a.left || (!a.answered && underWay > 0)
}

func (a *allowance) stopped() (reason, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason, a.why
}
