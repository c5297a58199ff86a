-- An owner is the place of an account (its source and folder), because two accounts can have the same name. `folder` is
-- the name shown: the shortest end of the place that no other owner has.
ALTER TABLE owners ADD COLUMN place TEXT NOT NULL DEFAULT '';
UPDATE owners SET place = folder;
CREATE UNIQUE INDEX idx_owners_place ON owners(place);
