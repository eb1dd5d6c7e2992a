"""Tables of the checks: rules and licences."""
