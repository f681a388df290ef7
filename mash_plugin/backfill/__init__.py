"""Memory from earlier chats: each is reviewed once by an agent that the person is signed in to.

What commands call (all of it raises MashError, nothing is printed):

    offer.find_reviewers(paths, environ) -> list[Chosen]     the agents that are signed in
    offer.choose(paths, environ, name) -> Chosen             one of them, or why it cannot be
    offer.offer_text(chosen, plan) -> str                    the question of the wizard (R-141)
    offer.notice(chosen) -> str                              cost and privacy, before the start
    window.saved_since(paths, now) -> int                    where the window begins; writes nothing
    window.keep_since(paths, now) -> int                     the same, kept in config.toml
    plan.make_plan(paths, since, chat_id=None) -> Plan       what is due; .summary() in words
    run.run(paths, chosen, plan, environ, options) -> Result reviews; .as_json(), .exit_code
"""
