"""The data of the data model: tables, metrics, collections, goals and roles, and the texts of exports."""
