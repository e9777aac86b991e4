//! The rules of a life, one by one, and that no order of events breaks them.

use proptest::prelude::*;

use super::*;

/// A life with its effects counted, and a clock of its own.
struct Story {
    life: Life,
    now: Instant,
    effects: Vec<Effect>,
}

impl Story {
    fn new() -> Self {
        Self { life: Life::new(7), now: Instant::now(), effects: Vec::new() }
    }

    fn on(&mut self, event: Event) -> &mut Self {
        let (life, effects) = self.life.clone().on(event, self.now);
        self.life = life;
        self.effects.extend(effects);
        self
    }

    fn later(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    fn starts(&self) -> usize {
        self.effects.iter().filter(|effect| **effect == Effect::Start).count()
    }

    fn phase(&self) -> Phase {
        self.life.phase()
    }

    /// Lets time pass until there is something to do. Returns how long that was.
    fn until_deadline(&mut self) -> Duration {
        let deadline = self.life.deadline().expect("something is to be done");
        let pause = deadline - self.now;
        self.now = deadline;
        self.on(Event::Tick);
        pause
    }

    /// A start that fails at once.
    fn fail(&mut self, permanent: bool) -> &mut Self {
        self.on(Event::Failed { permanent }).on(Event::Over)
    }

    /// A start after which it ends as soon as it is there.
    fn die_young(&mut self) -> &mut Self {
        self.on(Event::Connected).on(Event::Lost).on(Event::Over)
    }
}

fn about(pause: Duration, seconds: f64) -> bool {
    (seconds * 0.8..=seconds * 1.2).contains(&pause.as_secs_f64())
}

#[test]
fn any_number_of_callers_start_it_once() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.on(Event::Wake);
    }
    assert_eq!((story.starts(), story.phase()), (1, Phase::Starting));
    story.on(Event::Connected).on(Event::Wake);
    assert_eq!((story.starts(), story.phase()), (1, Phase::Ready));
}

#[test]
fn a_first_start_is_tried_again_after_one_two_and_four_seconds_and_then_parked() {
    let mut story = Story::new();
    story.on(Event::Wake).fail(false);
    for seconds in [1.0, 2.0, 4.0] {
        assert_eq!(story.phase(), Phase::Degraded);
        let pause = story.until_deadline();
        assert!(about(pause, seconds), "{pause:?} is not about {seconds} s");
        story.fail(false);
    }
    assert_eq!((story.starts(), story.phase()), (4, Phase::Parked));
    assert_eq!(story.effects.last(), Some(&Effect::TurnAway));
    assert_eq!(story.until_deadline(), PARKED_FOR);
    assert_eq!(story.starts(), 5);
    story.fail(false);
    assert_eq!((story.starts(), story.phase()), (5, Phase::Parked));
}

#[test]
fn what_cannot_work_is_parked_at_once() {
    let mut story = Story::new();
    story.on(Event::Wake).fail(true);
    assert_eq!((story.starts(), story.phase()), (1, Phase::Parked));
}

#[test]
fn a_server_that_answers_and_ends_is_started_a_handful_of_times() {
    let mut story = Story::new();
    story.on(Event::Wake).die_young();
    while story.phase() != Phase::Parked {
        story.until_deadline();
        story.die_young();
    }
    assert_eq!(story.starts(), 6);
    story.until_deadline();
    story.die_young();
    assert_eq!((story.starts(), story.phase()), (7, Phase::Parked));
}

#[test]
fn a_call_or_three_minutes_prove_a_server_and_nothing_else_resets_its_budget() {
    let prove: [fn(&mut Story); 2] = [
        |story| {
            story.on(Event::Succeeded);
        },
        |story| assert_eq!(story.until_deadline(), PROVEN_AFTER),
    ];
    for prove in prove {
        let mut story = Story::new();
        story.on(Event::Wake);
        for _ in 0..5 {
            story.die_young();
            story.until_deadline();
        }
        story.on(Event::Connected);
        assert_eq!(story.phase(), Phase::Ready);
        prove(&mut story);
        assert_eq!(story.phase(), Phase::Proven);
        story.on(Event::Lost).on(Event::Over);
        assert_eq!(story.phase(), Phase::Degraded);
        for _ in 0..5 {
            story.until_deadline();
            story.die_young();
            assert_eq!(story.phase(), Phase::Degraded);
        }
        story.until_deadline();
        story.die_young();
        assert_eq!(story.phase(), Phase::Parked);
    }
}

#[test]
fn whoever_asks_has_it_started_before_its_pause_is_over_but_not_more_than_once_a_second() {
    let mut story = Story::new();
    story.on(Event::Wake).later(Duration::from_secs(10)).fail(true);
    story.on(Event::Wake);
    assert_eq!((story.starts(), story.phase()), (2, Phase::Starting));
    story.fail(true).on(Event::Wake);
    assert_eq!((story.starts(), story.phase()), (2, Phase::Parked));
    assert_eq!(story.until_deadline(), START_EVERY);
    assert_eq!((story.starts(), story.phase()), (3, Phase::Starting));
}

#[test]
fn who_asks_while_the_last_process_is_ending_gets_the_next() {
    let mut story = Story::new();
    story.on(Event::Wake).on(Event::Connected).later(Duration::from_secs(5)).on(Event::Retire).on(Event::Wake);
    assert_eq!((story.starts(), story.phase()), (1, Phase::Starting));
    story.on(Event::Over);
    assert_eq!(story.starts(), 2);
    story.on(Event::Connected).later(Duration::from_secs(5)).on(Event::Lost).on(Event::Wake);
    assert_eq!(story.starts(), 2);
    story.on(Event::Over);
    assert_eq!((story.starts(), story.phase()), (3, Phase::Starting));
}

#[test]
fn one_that_is_starting_is_killed_and_one_that_runs_is_ended_in_steps() {
    let mut story = Story::new();
    story.on(Event::Wake).on(Event::Stop { for_good: false });
    assert_eq!(story.effects, [Effect::Start, Effect::Kill, Effect::TurnAway]);
    assert_eq!(story.phase(), Phase::Stopped);
    story.on(Event::Over).later(START_EVERY).on(Event::Wake).on(Event::Connected).on(Event::Retire);
    assert_eq!(story.effects[3..], [Effect::Start, Effect::Serve, Effect::End]);
}

#[test]
fn what_is_stopped_for_good_is_never_started() {
    let mut story = Story::new();
    story.on(Event::Wake).on(Event::Connected).on(Event::Stop { for_good: true });
    story.on(Event::Wake).on(Event::Stop { for_good: false }).on(Event::Over).later(PARKED_FOR).on(Event::Wake);
    assert_eq!((story.starts(), story.phase()), (1, Phase::Stopped));
    assert_eq!(story.effects.last(), Some(&Effect::TurnAway));
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Wake),
        3 => Just(Event::Connected),
        2 => any::<bool>().prop_map(|permanent| Event::Failed { permanent }),
        2 => Just(Event::Lost),
        4 => Just(Event::Over),
        1 => Just(Event::Succeeded),
        1 => Just(Event::Retire),
        1 => prop::bool::weighted(0.1).prop_map(|for_good| Event::Stop { for_good }),
        3 => Just(Event::Tick),
    ]
}

proptest! {
    #[test]
    fn there_is_never_more_than_one_process_and_never_more_than_one_start_a_second(
        events in prop::collection::vec((event(), 0u64..3000), 0..60),
    ) {
        let mut story = Story::new();
        let (mut alive, mut last_start) = (false, None::<Instant>);
        let mut for_good = false;
        for (event, pause) in events {
            story.later(Duration::from_millis(pause));
            // A process says something only while there is one, and is over only when it is being ended.
            let fits = match event {
                Event::Connected | Event::Failed { .. } | Event::Lost | Event::Succeeded => alive,
                Event::Over => alive && matches!(story.life.state, State::Closing(_)),
                _ => true,
            };
            if !fits {
                continue;
            }
            let before = story.effects.len();
            story.on(event);
            alive &= event != Event::Over;
            for_good |= event == Event::Stop { for_good: true };
            for effect in &story.effects[before..] {
                match effect {
                    Effect::Start => {
                        prop_assert!(!alive && !for_good);
                        prop_assert!(last_start.is_none_or(|last| story.now - last >= START_EVERY));
                        (alive, last_start) = (true, Some(story.now));
                    }
                    Effect::End | Effect::Kill => prop_assert!(alive),
                    Effect::Serve => prop_assert_eq!(story.phase(), Phase::Ready),
                    Effect::TurnAway => {}
                }
            }
            let has_process = matches!(story.life.state, State::Starting | State::Running { .. } | State::Closing(_));
            prop_assert_eq!(alive, has_process);
        }
    }

    #[test]
    fn a_server_that_never_lasts_is_parked_after_at_most_six_starts(
        connects in prop::collection::vec(any::<bool>(), 8), seed in any::<u64>(),
    ) {
        let mut story = Story::new();
        story.life = Life::new(seed);
        story.on(Event::Wake);
        for connects in connects {
            if connects { story.die_young(); } else { story.fail(false); }
            if story.phase() == Phase::Parked {
                break;
            }
            let pause = story.until_deadline();
            prop_assert!(pause <= PAUSE_MAX.mul_f64(1.0 + JITTER));
        }
        prop_assert_eq!(story.phase(), Phase::Parked);
        prop_assert!(story.starts() <= 6);
    }
}
