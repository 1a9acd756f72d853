package linkscore

import "sync"

// What waits for a server that is away is bounded in bytes, since a page may have 8 MiB, and sent in small calls that a
// server with other work answers at once; all chosen.
const (
	backlogBytes  = 64 << 20
	sliceRewards  = 100
	sliceLinks    = 500
	maxRewards    = 20_000
	pageTries     = 3   // a page whose answer took too long so often is given up
	overheadBytes = 512 // of a page without its body
)

// kept is a page that waits to be sent, and how often its answer took too long.
type kept struct {
	Page
	tries int
}

func (k kept) size() int { return overheadBytes + len(k.URL) + len(k.Body) }

// reward is feedback that waits to be sent.
type reward struct {
	url     string
	ticket  []byte
	worth   float64
	eventID string
}

// backlog has what was fetched and extracted while the server was away, the oldest first. Beyond its bounds the oldest
// is dropped; links of such a page that still wait are scored by their URLs.
type backlog struct {
	mu      sync.Mutex
	pages   []kept
	rewards []reward
	bytes   int
	dropped int
}

func (b *backlog) add(page Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages = append(b.pages, kept{Page: page})
	b.bytes += b.pages[len(b.pages)-1].size()
	for b.bytes > backlogBytes {
		b.bytes -= b.pages[0].size()
		b.pages = b.pages[1:]
		b.dropped++
	}
}

func (b *backlog) addReward(r reward) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rewards = append(b.rewards, r)
	if len(b.rewards) > maxRewards {
		b.rewards = b.rewards[1:]
	}
}

// take removes the page to send next.
func (b *backlog) take() (page kept, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pages) == 0 {
		return kept{}, false
	}
	page, b.pages = b.pages[0], b.pages[1:]
	b.bytes -= page.size()
	return page, true
}

// putBack returns a page that was not answered, ahead of the others; slow says that its answer took too long.
func (b *backlog) putBack(page kept, slow bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slow {
		page.tries++
	}
	if page.tries >= pageTries {
		b.dropped++
		return
	}
	b.pages = append([]kept{page}, b.pages...)
	b.bytes += page.size()
}

func (b *backlog) takeRewards(most int) []reward {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(most, len(b.rewards))
	slice := b.rewards[:n:n]
	b.rewards = b.rewards[n:]
	return slice
}

func (b *backlog) putRewardsBack(rewards []reward) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rewards = append(append(make([]reward, 0, len(rewards)+len(b.rewards)), rewards...), b.rewards...)
}

// size says how many pages wait, and how many fell out.
func (b *backlog) size() (pages, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pages), b.dropped
}
